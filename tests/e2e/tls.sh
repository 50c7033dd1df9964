# TLS from end to end: the right authority is trusted, others are not, and plain speech is refused.
source "$(dirname "$0")/lib.sh"
certificate hub-test
certificate other
expect 2 "$DUNLIN" hub --data hub --listen 127.0.0.1:0 --tls-cert hub-test.pem
says "$err" --tls-key
chmod 644 hub-test.key
start_hub --tls-cert hub-test.pem --tls-key hub-test.key
says "$(<hub.log)" "everybody on this machine can read the TLS key hub-test.key (mode 0644)"
says "$url" dunlin+tls://127.0.0.1:

expect 0 "$DUNLIN" store put settings key secret --tls-ca hub-test.pem
same "$("$DUNLIN" store get settings key --quiet --tls-ca hub-test.pem)" secret
head -c 2000000 /dev/urandom >bytes
"$DUNLIN" store blob put blob bytes --tls-ca hub-test.pem --quiet
"$DUNLIN" store blob get blob --tls-ca hub-test.pem | cmp - bytes

expect 4 "$DUNLIN" store info --tls-ca other.pem
says "$err" certificate
expect 4 "$DUNLIN" store info
says "$err" certificate
expect 2 "$DUNLIN" store info --tls-ca no-such-file
says "$err" no-such-file
expect 3 "$DUNLIN" store info --at "dunlin://127.0.0.1:$port"
says "$err" dunlin+tls://

# Its user's own commands on this machine need neither the authority nor a name in the certificate.
stop_hub
start_hub --listen "0.0.0.0:$(free_ports 1)" --tls-cert hub-test.pem --tls-key hub-test.key
(
  unset DUNLIN_AT DUNLIN_TOKEN_FILE
  expect 0 "$DUNLIN" list
  start_worker w1 --slots 1
  expect 0 "$DUNLIN" submit --wait -- echo hello
  same "$out" hello
  stop_worker
  expect 4 env XDG_STATE_HOME="$work/other" "$DUNLIN" list \
    --at "$(sed -n 1p "$(grep -l "^$hub\$" state/dunlin/hubs/* | head -n 1)")"
  says "$err" "requires a token"
  # Who names the address of all has its token by the note.
  expect 0 "$DUNLIN" list --at "dunlin+tls://127.0.0.1:$port" --tls-ca hub-test.pem
)

# handshake OPTIONS...: with OpenSSL's own client; prints the cipher.
handshake() {
  openssl s_client -connect "127.0.0.1:$port" -CAfile hub-test.pem "$@" </dev/null 2>/dev/null |
    sed -n 's|^New, .*, Cipher is ||p'
}
same "$(handshake -tls1_2)" ECDHE-ECDSA-AES256-GCM-SHA384
same "$(handshake -tls1_2 -cipher ECDHE+CHACHA20)" ECDHE-ECDSA-CHACHA20-POLY1305
for old in ECDHE-ECDSA-AES128-SHA ECDHE-ECDSA-AES256-SHA384 AES128-GCM-SHA256 DHE+AESGCM; do
  same "$(handshake -tls1_2 -cipher "$old:@SECLEVEL=0")" "(NONE)"
done
same "$(handshake -tls1_1 -cipher 'ALL:@SECLEVEL=0')" "(NONE)"
says "$(handshake -tls1_3)" TLS_
