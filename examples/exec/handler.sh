#!/bin/sh
# Makes a handler of any command: handler.sh COMMAND [ARGUMENT...]
# The command is run once a record, with the request line on its standard input; its exit status is the outcome.
while IFS= read -r request; do
  id=${request#'{"id":'} # the id is always the first field
  id=${id%%,*}
  status=0
  printf '%s\n' "$request" | "$@" >&2 || status=$?
  error="\"error\":\"exit status $status\",\"class\":\"exit_$status\""
  case $status in
    0) answer='"ok":true' ;;
    65) answer="$error,\"permanent\":true" ;;      # EX_DATAERR: the record is at fault
    75) answer="$error,\"retry_after\":\"30s\"" ;; # EX_TEMPFAIL: not now
    *) answer=$error ;;
  esac
  printf '{"id":%s,%s}\n' "$id" "$answer"
done
