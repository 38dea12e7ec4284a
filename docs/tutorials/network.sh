#!/bin/bash
# Makes or removes the practice network of the tutorials: three network namespaces, as root. The machine's own network
# devices stay untouched.
#
#   network.sh up      client 192.168.1.2 -- lan0 router wan0 -- 203.0.113.1 internet
#   network.sh down    ends the processes in the three namespaces, and removes them
set -euo pipefail

case ${1-} in
  up)
    for name in client router internet; do
      ip netns add "$name"
      ip -n "$name" link set lo up
    done
    ip -n router link add lan0 type veth peer name eth0 netns client
    ip -n router link add wan0 type veth peer name eth0 netns internet
    while read -r name device address; do
      ip -n "$name" address add "$address" dev "$device"
      ip -n "$name" link set "$device" up
    done <<'END'
client eth0 192.168.1.2/24
router lan0 192.168.1.1/24
router wan0 203.0.113.2/24
internet eth0 203.0.113.1/24
END
    ip -n client route add default via 192.168.1.1
    ip -n router route add default via 203.0.113.1
    ip netns exec router sysctl -qw net.ipv4.ip_forward=1
    ip netns exec router nft -f - <<'END'
table ip nat {
	chain postrouting {
		type nat hook postrouting priority srcnat
		oifname "wan*" masquerade
	}
}
END
    ;;
  down)
    for name in client router internet; do
      ip netns pids "$name" | xargs -r kill
      # A daemon stores its state before it ends. Shells ignore the signal, and keep the namespace until they end.
      for _ in {1..50}; do
        [ -n "$(ip netns pids "$name")" ] || break
        sleep 0.1
      done
      ip netns delete "$name"
    done
    ;;
  *)
    echo "usage: network.sh up|down" >&2
    exit 2
    ;;
esac
