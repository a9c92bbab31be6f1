# Manual pages (man macros) to plain text: drops control lines, keeps their words, undoes escapes.
/^[.']\\"/ || /^[.'] *\\"/ { next }
/^[.'](SH|SS) / { sub(/^[.'](SH|SS) +/, ""); gsub(/"/, ""); print "\n" plain($0) "\n"; next }
/^[.'](B|I|BR|BI|IR|RB|RI|IB|SB|SM) / {
  words = $0; sub(/^[.'][A-Z]+ +/, "", words); gsub(/"/, "", words); print plain(words); next
}
/^[.'](PP|P|LP|TP|IP|sp)/ { print ""; next }
/^[.']/ { next }
{ print plain($0) }

function plain(text) {
  gsub(/\\f(\[[A-Z]*\]|\([A-Z][A-Z]|.)/, "", text)
  gsub(/\\-/, "-", text)
  gsub(/\\\(aq/, "'", text)
  gsub(/\\\(dq/, "\"", text)
  gsub(/\\\((lq|rq)/, "\"", text)
  gsub(/\\\(em/, "--", text)
  gsub(/\\\(ti/, "~", text)
  gsub(/\\\(ha/, "^", text)
  gsub(/\\e/, "\\", text)
  gsub(/\\[&\/,|^ ]/, "", text)
  gsub(/\\\([a-z][a-z]/, "", text)
  gsub(/\\\*\([A-Z][a-z]/, "", text)
  gsub(/\\s[-+]?[0-9]/, "", text)
  return text
}
