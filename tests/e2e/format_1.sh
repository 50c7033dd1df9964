# A store that a program of format 1 wrote is read, and goes on in format 2; on a full disk as soon as
# there is room.
[ -n "${INSIDE:-}" ] || exec env INSIDE=1 unshare --user --map-root-user --mount bash "$0"  # Namespaces.
source "$(dirname "$0")/lib.sh"
base64 -d <<'END' | tar xz
H4sIAAAAAAACA+3ZW4xcdR3A8XF3W2kFFnqxUNoy4IVaYffcz0zQBxMSpdCqJMaIpum024sw3SG7WxofxEiIFBEfEE1KjEFJeIAHpRglxEtMEE
0UjYlW2lhvISom3jANEiN6/uuusW3448suAp9f0nym+/9O05z/nDNnZgf9ifHWAk/STJ0ksyanO/s4LbO6LpKiKvNWkiZ5XrbaZWsRZv/0TG+q
3W5NDQYzse6F1l+iM2j2vz/YM/7/s/9ps//NFPZ/Mfd/bh/SseldexZi/6vn3/8iK7NTzv+sTPJWO7H/Cz5XvGfr1Vduvfrtr2oez/85de4aPX
Ntd+jBI+c3jz/6k8n+5I6ZnXvnw2y+OnfThzc0jIxcN9gxvaLu9ibK3dXuemdZF8Xu3lganpAeO3RiRazKhsI/2d/wzTpW5cPNYj55cPPjsaoY
aRaLJ0Zbv4tV5ZJmsRy69Re3xqpqabNYfbn16S/EqvrVzWL9zPEnDsSqzhnNYudt1955TazqLmsWu8fv/dtH2v+pVp5+VJPl4bAmo3vuWR7t0t
eELj17/dcuiXbZmaHLfnb0yWuiXX5W6PKJxw58MdoVZ4eu+MrQ+LFoV46GrvzMu7rvjXbVOaGrrrird3G0q88NXb19bOkF0a6zInSdw7/fNhnt
uitD13043/i+WJclq8ILOLnumRsujXbp6tCl6x459FC0y14buuwHN33rsWiXrwldvmHr55+KdsV5oSu+//FnPxvtynCyZ+Uj3zlnONpVa0NX7R
1+x43Rrr4gdPXlnzz2j2jXWRe6zlObbz4Y7brrQ9ctJt/ycKzLk3CO5clv7p94PNqlF4YuveqPH/t2tMvCap4d2vTzL0W7/KLQ5ReVW7ZEu+Li
0BV//cvqTrQrXxe68unbl62OdtXrQ1e13/nu7dGufkPo6pETVfT1nHfeGLrOkXQy+nrOu5eErju18rZVsa5INoaLcnLPT3/Ui3bpm0KXHrm781
y0yzaFLhvZtv32aJe/OXT5925c+mi0Ky4NXXH+4W0PRrvystCVg39+dSzaVWOhq75++Z/eH+3qcAde1D/83IEbol0n3BQVnfXXji+Jdt00dN3n
ThSzx+WW5+nKJLx/l8kfLtz/iZPe3ofm3tXzOcfu+PWd4S3k4JJ+b2rPrvzPn1q2Zk37lpOeMzzXFnO+9ayjTy+bfc70vl6/XyzZeN8vzzvpGS
Nz5fyd/qpvHP1tuIDePDI1ODA9fP2uD5Wb9w59YN3hex+6rGUW6P5/X2/q+oX+/Be5/0+bxVPu/9MsTd3/L979/5ar5u/958/I+8/4t//9eaCa
+Pujzhj7b15u3//sfDGv/2H1tOt/8yPX/0WYLOvk9XLnwSv5/N/Rbz4bjC/s+f+/f/+fhfO/8Pufxd7/Mn1Rrv9FUTQbf+r+V7nv/xdlJvZP9j
84uRwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAA8ArngTtu6zoMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIDAjw8++V2HAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYGH51dr2aKuZQX9i
fEd/sGN6vMxaCzRJM1WSzJqcbpKkaSsts7oukqJq/hvN30PeTlqLMPunZ3pT7XZrajCYiXUvtP4Snel9vX7/ymeP39QyxhhjjDHGGGOMMcYY83
KafwGGFTTEAIACAA==
END
cp -r old older
export DUNLIN_AT=file:$work/old
large_is_whole() { "$DUNLIN" store blob get large - | cmp - <(head -c 150000 < <(yes dunlin)); }

expect 0 "$DUNLIN" store check old
says "$out" "50 messages in 1 queue" "2 blobs" "old is whole"
for round in 1 2; do
  large_is_whole || fail "the blob is another one in round $round"
  same "$("$DUNLIN" store blob get small -)" small
  says "$("$DUNLIN" store get rows key)" "key       53"
  expect 0 "$DUNLIN" store put rows "new-$round" value
  expect 0 "$DUNLIN" store check old
done
same "$("$DUNLIN" store depth jobs --json | jq .ready)" 50

# The old segment ends where the new format begins, which its header says.
same "$(od -An -tu4 -j 8 -N 4 old/log/00000001.seg | tr -d ' ')" 1
same "$(od -An -tu4 -j 8 -N 4 old/log/00000002.seg | tr -d ' ')" 2

# New blobs know their places, old ones do not.
head -c 150000 < <(yes dunlin) | "$DUNLIN" store blob put new - >/dev/null
head -c 150000 < <(yes durlin) | "$DUNLIN" store blob put newer - >/dev/null
expect 0 "$DUNLIN" store check old
mapfile -t files < <(ls -t old/blobs | sort -n | tail -n 2)
mv "old/blobs/${files[0]}" swap
mv "old/blobs/${files[1]}" "old/blobs/${files[0]}"
mv swap "old/blobs/${files[1]}"
expect 1 "$DUNLIN" store check old
says "$out" "blob new" "blob newer" "old is damaged in 2 places"
expect 1 "$DUNLIN" store blob get new copy
large_is_whole || fail "the old blob went with them"

small_disk hub -o size=2m
cp -r older/. hub
(umask 077 && head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >hub/token)
head -c 8M /dev/zero >hub/filler 2>/dev/null && fail "the disk is not small"
start_hub
says "$(<hub.log)" "the store cannot write yet" "No space left"
says "$("$DUNLIN" store get rows key)" "key       53"
large_is_whole || fail "the blob is another one on a full disk"
expect 1 "$DUNLIN" store put rows new value
says "$err" "cannot write now" "No space left"
same "$(echo hub/log/*)" hub/log/00000001.seg
rm hub/filler
within 60 "$DUNLIN" store put rows new value
stop_hub
expect 0 "$DUNLIN" store check hub
same "$(od -An -tu4 -j 8 -N 4 hub/log/00000002.seg | tr -d ' ')" 2
