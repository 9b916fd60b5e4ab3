# Appends to a file who it is and that it is at work, a line at a write; the pid is that of its attempt. When it is to be loud it
# says the same on its output, which ends it when nobody reads there any more.
# usage: sh beater.sh FILE BEATS SECONDS loud|quiet
exec 4>>"$1"
say() {
  printf '%s %s\n' "$$" "$1" >&4
  if [ "$loud" = loud ]; then echo "$1"; fi
}
loud=$4
say begin
beat=0
while [ "$beat" -lt "$2" ]; do
  beat=$((beat + 1))
  sleep "$3"
  say beat
done
say end
