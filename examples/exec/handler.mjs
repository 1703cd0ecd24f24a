#!/usr/bin/env node
// Books orders: {"id": "A1", "amount": 12} makes an invoice, anything else is told apart by its error.
import { createInterface } from 'node:readline';

console.log = console.error; // a log line in some library must not be taken for an answer

async function handle(record) {
  if (!('value' in record)) return { error: 'the value is not text', class: 'bad_order', permanent: true };
  if (record.value === null) return { skip: 'tombstone' };
  let order;
  try {
    order = JSON.parse(record.value);
  } catch (e) {
    return { error: `not an order: ${e.message}`, class: 'bad_order', permanent: true };
  }
  if (order?.id === undefined || order.amount === undefined) {
    return { error: 'not an order: id or amount is missing', class: 'bad_order', permanent: true };
  }
  if (typeof order.amount !== 'number' || order.amount < 0) {
    return { error: `amount ${JSON.stringify(order.amount)}`, class: 'bad_amount', permanent: true };
  }
  // Book it here. record.idempotency_key is the same in every attempt: hand it on to whatever you call.
  const invoice = { order: order.id, amount: order.amount };
  return { ok: true, produce: [{ topic: 'invoices', key: String(order.id), value: JSON.stringify(invoice) }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const record = JSON.parse(line);
  let answer;
  try {
    answer = await handle(record);
  } catch (e) { // plain errors are tried again
    answer = { error: String(e?.message || e), class: e?.name };
  }
  process.stdout.write(JSON.stringify({ id: record.id, ...answer }) + '\n');
}
