#!/usr/bin/env python3
"""Books orders: {"id": "A1", "amount": 12} makes an invoice, anything else is told apart by its error."""
import json
import sys

answers = sys.stdout
sys.stdout = sys.stderr  # a print in some library must not be taken for an answer


def handle(record):
    if "value" not in record:
        return {"error": "the value is not text", "class": "bad_order", "permanent": True}
    if record["value"] is None:
        return {"skip": "tombstone"}
    try:
        order = json.loads(record["value"])
        order_id, amount = order["id"], order["amount"]
    except (ValueError, TypeError, KeyError) as e:
        return {"error": f"not an order: {e!r}", "class": "bad_order", "permanent": True}
    if not isinstance(amount, (int, float)) or amount < 0:
        return {"error": f"amount {amount!r}", "class": "bad_amount", "permanent": True}
    # Book it here. record["idempotency_key"] is the same in every attempt: hand it on to whatever you call.
    invoice = {"order": order_id, "amount": amount}
    return {"ok": True, "produce": [{"topic": "invoices", "key": str(order_id), "value": json.dumps(invoice)}]}


for line in sys.stdin.buffer:
    record = json.loads(line)
    try:
        answer = handle(record)
    except Exception as e:  # plain errors are tried again
        answer = {"error": str(e) or repr(e), "class": type(e).__name__}
    print(json.dumps({"id": record["id"], **answer}), file=answers, flush=True)
