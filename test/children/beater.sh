# Appends to a file who it is and that it is at work, a line at a write; the pid is that of its attempt. When it is to be loud it
# says the same on its output, which ends it when nobody reads there any more; when it is to be deaf it does not hear TERM.
# usage: sh beater.sh FILE BEATS SECONDS loud|quiet|deaf
exec 4>>"$1"
say() {
  printf '%s %s\n' "$$" "$1" >&4
  if [ "$manner" = loud ]; then echo "$1"; fi
}
manner=$4
if [ "$manner" = deaf ]; then trap '' TERM; fi
say begin
beat=0
while [ "$beat" -lt "$2" ]; do
  beat=$((beat + 1))
  sleep "$3"
  say beat
done
say end
