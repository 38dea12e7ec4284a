//! The rules themselves. `$here`: devices of guests; `$page`, `$pages`, `$names`: ports.

/// Chains, those that are jumped to first, with their rules. Before fw4's, and all others' at the
/// usual priorities.
pub(super) const CHAINS: [(&str, &str); 6] = [
    ("refuse", REFUSE),
    ("from_guests", FROM_GUESTS),
    ("to_guests", TO_GUESTS),
    (
        "forward { type filter hook forward priority filter - 10; policy accept; }",
        "iifname $here jump from_guests
         oifname $here jump to_guests",
    ),
    (
        "input { type filter hook input priority filter - 10; policy accept; }",
        INPUT,
    ),
    (
        "to_portal { type nat hook prerouting priority dstnat - 10; policy accept; }",
        REDIRECT,
    ),
];

/// Refuses at once, so that clients do not wait. Unsolicited packets get no answer: a foreign
/// source address may belong to a host outside, and a packet outside of any connection would reset
/// the connection of another device.
const REFUSE: &str = "
    ct state invalid drop
    fib saddr . iif oif missing drop
    meta l4proto tcp reject with tcp reset
    udp dport 443 reject
    reject with icmpx admin-prohibited";

/// New connections are checked for device and address, others for the address. Packets of an
/// admitted device with an unknown address are dropped, so the device retransmits them: after a
/// refusal, programs would not connect again.
const FROM_GUESTS: &str = "
    iifname @open return
    limit name ether saddr map @up drop
    ct state established,related ip saddr @guests4 return
    ct state established,related ip6 saddr @guests6 return
    ct state new ether saddr . ip saddr @pairs4 return
    ct state new ether saddr . ip6 saddr @pairs6 return
    ct state new ether saddr @macs return
    ip daddr @garden4 return
    ip6 daddr @garden6 return
    ip daddr @names4 return
    ip6 daddr @names6 return
    ether saddr @macs drop
    goto refuse";

/// No answer to who sends from outside.
const TO_GUESTS: &str = "
    oifname @open return
    limit name ip daddr map @down4 drop
    limit name ip6 daddr map @down6 drop
    ip daddr @guests4 return
    ip6 daddr @guests6 return
    ip saddr @garden4 return
    ip6 saddr @garden6 return
    ip saddr @names4 return
    ip6 saddr @names6 return
    drop";

/// Services of the router for all devices: DHCP, address resolution, the page, names. Replies to
/// the router's own queries pass, too. A connection redirected here before its device logged in is
/// ended, or the browser would use it again and never get to its destination. Where the page has
/// only a link-local address, such connections carry the page, and they stay.
const INPUT: &str = "
    iifname != $here tcp dport { $pages, $names } drop
    iifname != $here udp dport $names drop
    iifname != $here return
    iifname @open return
    udp sport 68 udp dport 67 return
    udp sport 546 udp dport 547 return
    icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, \
        mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report } return
    fib saddr . iif oif missing drop
    meta nfproto ipv4 ct status dnat tcp dport $page ether saddr @macs reject with tcp reset
    ip6 daddr != fe80::/10 ct status dnat tcp dport $page ether saddr @macs reject with tcp reset
    tcp dport { $pages, $names } return
    udp dport $names return
    ct direction reply ct state established,related return
    icmp type echo-request return
    icmpv6 type echo-request return
    ether saddr . ip saddr @pairs4 return
    ether saddr @macs return
    goto refuse";

/// Only the first packet of a connection reaches this chain.
const REDIRECT: &str = "
    iifname != $here return
    iifname @open return
    ether saddr . ip saddr @pairs4 return
    ether saddr . ip6 saddr @pairs6 return
    ether saddr @macs return
    udp dport 53 redirect to :$names
    tcp dport 53 redirect to :$names
    ip daddr @garden4 return
    ip6 daddr @garden6 return
    ip daddr @names4 return
    ip6 daddr @names6 return
    tcp dport 80 redirect to :$page";
