#!/usr/bin/env python3
"""A virtual air for Bluetooth LE: many controllers that hear each other, with faults on demand.

  air.py --vhci N            N controllers hci0..N-1 by /dev/vhci (needs root and the module hci_vhci)
         --tcp PORT          every TCP connection (H4) is one more controller: bumble's  tcp-client:127.0.0.1:PORT
         --control PATH      UNIX socket, JSON lines in, JSON lines out (default /run/air.sock)
         --ext               extended advertising (Bluetooth 5 style); default is legacy advertising (4.2 style)
         --acl OCTETS        ACL buffer size of the controllers (default 251), --buffers N (default 20)
         --adv-ms N          overrides the advertising interval
Addresses: vhci number i is C0:DE:00:00:00:<i> hex (public), TCP controllers C0:DE:00:00:01:<n>.

Control commands (a = sending address or null for all, b = receiving one or null):
  {"cmd":"rule","from":a,"to":b,"kind":K,...}  K = drop_pdu | drop_frag | dup_pdu | corrupt | delay | rate
        drop_*: "every":n (each nth) or "p":0.1; optional "cid":4 (4 = ATT, >=64 = L2CAP CoC); "count":max;
            "ops":[82,27,35] (of ATT only these: 0x52 writes without response, 0x1b and 0x23 notifications)
        delay: "ms":n (in order);  rate: "bps":octets per second
  {"cmd":"clear"}                     all rules off
  {"cmd":"link","ms":30,"packets":6}  links as radios have them: both ends may send so many packets each so many ms; "ms":0 = at once
  {"cmd":"mtu","most":23}             what either end says that it can take is said to be so much at most, 0 = as it is
  {"cmd":"disconnect","a":a,"b":b,"reason":8}       the link between both ends (8 = supervision timeout), seen by both
  {"cmd":"disconnect_after","a":..,"b":..,"pdus":n}  after n more PDUs of a towards b
  {"cmd":"mute","a":a,"on":true}      out of range: advertisements unheard, links die by supervision timeout
  {"cmd":"mute","a":a,"b":b,"on":true}  these two only do not hear each other
  {"cmd":"remove","index":i} {"cmd":"add"}           vhci controller i unplugged / a new one
  {"cmd":"stats"}                     links, and PDUs and octets of each direction
"""
import argparse, asyncio, json, os, random, struct, sys, time
from bumble import hci, ll, link as blink, controller as bc
from bumble.core import PhysicalTransport
from bumble.transport.common import PacketParser

A = argparse.ArgumentParser()
A.add_argument('--vhci', type=int, default=0); A.add_argument('--tcp', type=int, default=0)
A.add_argument('--control', default='/run/air.sock'); A.add_argument('--ext', action='store_true')
A.add_argument('--acl', type=int, default=251); A.add_argument('--buffers', type=int, default=20)
A.add_argument('--adv-ms', type=float, default=0); A.add_argument('--supervision-ms', type=float, default=420)
A.add_argument('--debug', action='store_true')
O = A.parse_args()
if O.debug:
    import logging; logging.basicConfig(level=logging.DEBUG)

def say(**k): print(json.dumps(dict(t=round(time.monotonic(), 3), **k)), flush=True)
name = lambda a: str(a).split('/')[0]

class Rule:
    def __init__(s, c):
        s.src, s.dst, s.kind, s.cid, s.ops = c.get('from'), c.get('to'), c['kind'], c.get('cid'), c.get('ops')
        s.every, s.p, s.count = c.get('every', 0), c.get('p', 0), c.get('count', 1 << 60)
        s.ms, s.bps, s.n, s.hits, s.after = c.get('ms', 0), c.get('bps', 0), 0, 0, c.get('after', 0)
    def fits(s, src, dst, cid=None, op=None):
        return (s.ops is None or cid == 4 and op in s.ops) and (s.src in (None, src)) and (s.dst in (None, dst)) and (s.cid is None or cid is None or s.cid == cid or (s.cid >= 64 and cid >= 64))
    def fires(s):
        s.n += 1
        if s.n <= s.after or s.hits >= s.count: return False
        hit = (s.every and (s.n - s.after) % s.every == 0) or (s.p and random.random() < s.p)
        if hit: s.hits += 1
        return bool(hit)

class Link(blink.LocalLink):
    def __init__(s):
        super().__init__(); s.rules = []; s.stats = {}; s.muted = set(); s.pairs = set(); s.killers = []; s.last = {}; s.ways = {}; s.event = (0, 0); s.mtu = 0
    # Data goes straight on where no fault is asked for: bumble takes long to read it.
    def passes(s, c, packet):
        if s.rules or s.killers or s.muted: return False
        word = packet[1] | packet[2] << 8; handle = word & 0xfff
        way = s.ways.get((c, handle))
        if way is None or way[0].controller.le_connections.get(way[0].peer_address) is not way[0] or way[1].controller.le_connections.get(way[1].peer_address) is not way[1]:
            conn = next((x for x in c.le_connections.values() if x.handle == handle), None); o = conn and s.other(conn)
            if o is None: return False
            # Until when, and how many packets of that event are taken.
            way = s.ways[c, handle] = (conn, o, s.stats.setdefault(f'{name(c.public_address)}>{name(o.controller.public_address)}', [0, 0, 0]), [0, 0])
        conn, o, st, taken = way
        if s.pairs and s.deaf(name(c.public_address), name(o.controller.public_address)): return False
        begins = word >> 12 & 3 != 1; st[0] += begins; st[1] += len(packet) - 5
        if s.mtu and packet[7:9] == b'\4\0' and packet[9] in (2, 3): packet = packet[:10] + min(s.mtu, packet[10] | packet[11] << 8).to_bytes(2, 'little')
        on = bytes([2]) + (o.handle | (0x2000 if begins else 0x1000)).to_bytes(2, 'little') + packet[3:]
        done = bytes([4, 0x13, 5, 1]) + handle.to_bytes(2, 'little') + b'\1\0'
        loop = asyncio.get_running_loop(); ms, packets = s.event
        if not ms: loop.call_soon(s.passed, way, on, done); return True
        event = -int(-loop.time() * 1000 // ms)
        if event > taken[0]: taken[:] = [event, 0]
        if taken[1] >= packets: taken[:] = [taken[0] + 1, 0]
        taken[1] += 1
        # A packet and what acknowledges it are 2.5 ms on the air.
        loop.call_at((taken[0] * ms + 2.5 * taken[1]) / 1000, s.passed, way, on, done)
        return True
    def passed(s, way, on, done):
        conn, o = way[0], way[1]
        if o.controller.hci_sink and o.controller.le_connections.get(o.peer_address) is o: o.controller.hci_sink.on_packet(on)
        if conn.controller.hci_sink and conn.controller.le_connections.get(conn.peer_address) is conn: conn.controller.hci_sink.on_packet(done)
    def deaf(s, a, b):
        return a in s.muted or b in s.muted or frozenset((a, b)) in s.pairs
    def send_advertising_pdu(s, sender, packet):
        loop = asyncio.get_running_loop()
        for c in list(s.controllers):
            if c is not sender and not s.deaf(name(sender.public_address), name(c.public_address)):
                loop.call_soon(c.on_ll_advertising_pdu, packet)
    def other(s, conn):
        for c in s.controllers:
            o = c.le_connections.get(conn.self_address)
            if o and o.self_address == conn.peer_address: return o
    def send_ll_control_pdu(s, sender_address, receiver_address, packet):
        for c in list(s.controllers):
            o = c.le_connections.get(sender_address)
            if o and o.self_address == receiver_address:
                asyncio.get_running_loop().call_soon(s.safe_ll, c, sender_address, packet); return
    def safe_ll(s, c, sender, packet):
        if sender in c.le_connections: c.on_ll_control_pdu(sender, packet)
    def deliver(s, conn, pdu):
        o = s.other(conn)
        src, dst = name(conn.controller.public_address), name(o.controller.public_address) if o else None
        if o is None: return
        cid, op = struct.unpack_from('<H', pdu, 2)[0], pdu[4] if len(pdu) > 4 else None
        st = s.stats.setdefault(f'{src}>{dst}', [0, 0, 0]); st[0] += 1; st[1] += len(pdu)
        for k in list(s.killers):
            if k['a'] in (None, src) and k['b'] in (None, dst):
                k['pdus'] -= 1
                if k['pdus'] < 0:
                    s.killers.remove(k); s.drop_link(conn, 8); return
        if s.deaf(src, dst): st[2] += 1; return
        copies, delay = 1, 0
        for r in s.rules:
            if not r.fits(src, dst, cid, op): continue
            if r.kind == 'drop_pdu' and r.fires(): copies = 0
            elif r.kind == 'dup_pdu' and r.fires(): copies = 2
            elif r.kind == 'corrupt' and r.fires():
                pdu = bytearray(pdu); pdu[-1] ^= 0x55; pdu = bytes(pdu)
            elif r.kind == 'delay': delay += r.ms / 1000
            elif r.kind == 'rate': delay += len(pdu) / r.bps
        if not copies: st[2] += 1
        loop = asyncio.get_running_loop()
        # In order even if the delay changes; with "rate" packets queue behind each other.
        now = loop.time(); key = (src, dst)
        rate = any(r.kind == 'rate' and r.fits(src, dst, cid, op) for r in s.rules)
        at = max(now, s.last.get(key, 0)) + delay if rate else max(now + delay, s.last.get(key, 0))
        s.last[key] = at
        for _ in range(copies):
            if at <= now: loop.call_soon(s.arrive, o, pdu)
            else: loop.call_at(at, s.arrive, o, pdu)
        return at - now
    def arrive(s, conn, pdu):
        c = conn.controller
        if c.le_connections.get(conn.peer_address) is not conn: return
        first = 2
        for i in range(0, len(pdu), O.acl):
            part = pdu[i:i + O.acl]
            c.send_hci_packet(hci.HCI_AclDataPacket(conn.handle, first, 0, len(part), part)); first = 1
    def drop_link(s, conn, reason):
        o = s.other(conn)
        for x in (conn, o):
            if x and x.controller.le_connections.get(x.peer_address) is x: x.controller.on_le_disconnected(x, reason)
        say(event='link-down', a=name(conn.self_address), b=name(conn.peer_address), reason=reason)

def on_hci_acl(self, packet):                    # Connection: a fragment from the host
    lk = self.link; c = self.controller
    src = name(c.public_address); o = lk.other(self); dst = name(o.controller.public_address) if o else None
    lost = any(r.kind == 'drop_frag' and r.fits(src, dst) and r.fires() for r in lk.rules)
    self.wait = 0
    if not lost: self.assembler.feed_packet(packet)
    done = hci.HCI_Number_Of_Completed_Packets_Event(connection_handles=[self.handle], num_completed_packets=[1])
    # The host gets its buffer back when the air has taken the packet: so it feels rate and delay.
    if self.wait > 0: asyncio.get_running_loop().call_later(self.wait, lambda: c.le_connections.get(self.peer_address) is self and c.send_hci_packet(done))
    else: c.send_hci_packet(done)
def on_acl_pdu(self, pdu):
    self.wait = self.link.deliver(self, pdu) or 0
bc.Connection.on_hci_acl_data_packet = on_hci_acl
bc.Connection.on_acl_pdu = on_acl_pdu

class Adv(bc.LegacyAdvertiser):
    def _on_timer_fired(self):
        self.send_advertising_data()
        ms = O.adv_ms or max(20, self.advertising_interval_min * 0.625)
        self.timer_handle = asyncio.get_running_loop().call_later((ms + random.random() * 10) / 1000, self._on_timer_fired)
    def send_advertising_data(self):
        if self.enabled and self.advertising_type in (0, 2, 3):
            p = ll.AdvInd(advertiser_address=self.address, data=self.advertising_data)
            p.kind, p.scan_rsp = self.advertising_type, self.scan_response_data
            self.controller.send_advertising_pdu(p)

def ext_adv(self):                               # AdvertisingSet: legacy PDUs if the host asked for them (property bit 4)
    if not self.enabled or not self.parameters or not self.address: return
    props = int(self.parameters.advertising_event_properties)
    if props & 0x10:
        p = ll.AdvInd(advertiser_address=self.address, data=bytes(self.data)); p.kind = 0 if props & 1 else (2 if props & 2 else 3); p.scan_rsp = bytes(self.scan_response_data)
    else: p = ll.AdvExtInd(advertiser_address=self.address, data=bytes(self.data), sid=self.parameters.advertising_sid)
    self.controller.send_advertising_pdu(p)
bc.AdvertisingSet.send_extended_advertising_data = ext_adv

class Ctl(bc.Controller):
    def __init__(self, nm, link, address, sink):
        super().__init__(nm, None, sink, link, hci.Address(address, hci.Address.PUBLIC_DEVICE_ADDRESS))
        self.le_legacy_advertiser = Adv(self)
        self.acl_data_packet_length = self.le_acl_data_packet_length = O.acl
        self.total_num_acl_data_packets = self.total_num_le_acl_data_packets = O.buffers
        self.supported_max_tx_octets = self.supported_max_rx_octets = self.suggested_max_tx_octets = 251
        self.supported_max_tx_time = self.supported_max_rx_time = self.suggested_max_tx_time = 2120
        F = hci.LeFeatureMask
        off = F.LL_PRIVACY | F.LE_CODED_PHY | F.LE_PERIODIC_ADVERTISING
        if not O.ext: off |= F.LE_EXTENDED_ADVERTISING
        self.le_features = self.le_features & ~off
        if O.ext:
            self.supported_commands = set(self.supported_commands) | {getattr(hci, n) for n in (
                'HCI_LE_SET_ADVERTISING_SET_RANDOM_ADDRESS_COMMAND', 'HCI_LE_SET_EXTENDED_ADVERTISING_PARAMETERS_COMMAND',
                'HCI_LE_SET_EXTENDED_ADVERTISING_DATA_COMMAND', 'HCI_LE_SET_EXTENDED_SCAN_RESPONSE_DATA_COMMAND',
                'HCI_LE_SET_EXTENDED_ADVERTISING_ENABLE_COMMAND', 'HCI_LE_READ_MAXIMUM_ADVERTISING_DATA_LENGTH_COMMAND',
                'HCI_LE_READ_NUMBER_OF_SUPPORTED_ADVERTISING_SETS_COMMAND', 'HCI_LE_REMOVE_ADVERTISING_SET_COMMAND',
                'HCI_LE_CLEAR_ADVERTISING_SETS_COMMAND', 'HCI_LE_SET_EXTENDED_SCAN_PARAMETERS_COMMAND',
                'HCI_LE_SET_EXTENDED_SCAN_ENABLE_COMMAND', 'HCI_LE_EXTENDED_CREATE_CONNECTION_COMMAND') if hasattr(hci, n)}
        self.seen = set(); self.accept = set()
    def on_packet(self, packet):
        if packet[0] == 2 and self.link.passes(self, packet): return
        try: self.on_hci_packet(hci.HCI_Packet.from_bytes(packet))
        except Exception as e: say(event='bad-packet', who=self.name, error=repr(e), packet=packet.hex()[:80])
    def send_hci_packet(self, packet):
        if self.host: asyncio.get_running_loop().call_soon(self.host.on_packet, bytes(packet))
    def forget(self, reason):
        self.le_legacy_advertiser.stop()
        for s in self.advertising_sets.values(): s.stop()
        self.advertising_sets.clear(); self.le_scan_enable = False; self.pending_le_connection = None
        for conn in list(self.le_connections.values()):
            o = self.link.other(conn); self.le_connections.pop(conn.peer_address, None)
            if o: asyncio.get_running_loop().call_later(O.supervision_ms / 1000, self.late, o, reason)
    def late(self, o, reason):
        if o.controller.le_connections.get(o.peer_address) is o: o.controller.on_le_disconnected(o, reason)
    def on_hci_reset_command(self, c):
        self.forget(8); self.accept.clear()
        return super().on_hci_reset_command(c)
    def on_hci_le_create_connection_cancel_command(self, c):
        p, self.pending_le_connection = self.pending_le_connection, None
        if p:
            self.send_hci_packet(hci.HCI_Command_Complete_Event(num_hci_command_packets=1, command_opcode=c.op_code,
                return_parameters=hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)))
            self.send_hci_packet(hci.HCI_LE_Connection_Complete_Event(status=2, connection_handle=0, role=0, peer_address_type=0,
                peer_address=p.peer_address, connection_interval=0, peripheral_latency=0, supervision_timeout=0, central_clock_accuracy=0))
            return None
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
    def on_hci_command_packet(self, command):    # as the base, but a handler may have answered itself
        handler = getattr(self, f'on_{command.name.lower()}', self.on_hci_command)
        result = handler(command)
        if isinstance(command, hci.HCI_SyncCommand) and result is not None:
            self.send_hci_packet(hci.HCI_Command_Complete_Event(num_hci_command_packets=1, command_opcode=command.op_code, return_parameters=result))
    def on_hci_le_clear_filter_accept_list_command(self, c):
        self.accept.clear(); return super().on_hci_le_clear_filter_accept_list_command(c)
    def on_hci_le_add_device_to_filter_accept_list_command(self, c):
        self.accept.add(c.address); return super().on_hci_le_add_device_to_filter_accept_list_command(c)
    def on_hci_le_remove_device_from_filter_accept_list_command(self, c):
        self.accept.discard(c.address); return super().on_hci_le_remove_device_from_filter_accept_list_command(c)
    def on_hci_le_set_scan_enable_command(self, c):
        self.seen.clear(); return super().on_hci_le_set_scan_enable_command(c)
    def on_hci_le_set_extended_scan_enable_command(self, c):
        self.seen.clear(); return super().on_hci_le_set_extended_scan_enable_command(c)
    def on_advertising_pdu(self, pdu):
        adr = pdu.advertiser_address
        ext = isinstance(pdu, ll.AdvExtInd)
        if self.le_scan_enable and not (self.le_scanning_filter_policy & 1 and adr not in self.accept):
            data, rsp, kind = pdu.data, getattr(pdu, 'scan_rsp', b''), getattr(pdu, 'kind', 0)
            key = (bytes(adr), bytes(data), bytes(rsp))
            if not (self.filter_duplicates and key in self.seen):
                self.seen.add(key)
                rssi = -40 - random.randrange(8)
                if self.le_features & hci.LeFeatureMask.LE_EXTENDED_ADVERTISING:
                    R = hci.HCI_LE_Extended_Advertising_Report_Event.Report
                    def rep(et, d): self.send_hci_packet(hci.HCI_LE_Extended_Advertising_Report_Event([R(event_type=et,
                        address_type=adr.address_type, address=adr, primary_phy=1, secondary_phy=1 if ext else 0, advertising_sid=0 if ext else 0xff,
                        tx_power=127, rssi=rssi, periodic_advertising_interval=0, direct_address_type=0, direct_address=hci.Address.ANY, data=d)]))
                    if ext: rep(0x01, data)
                    else:
                        rep(0x13, data); 
                        if self.active(): rep(0x1b, rsp)
                else:
                    if ext: return
                    R = hci.HCI_LE_Advertising_Report_Event.Report
                    self.send_hci_packet(hci.HCI_LE_Advertising_Report_Event([R(event_type=kind, address_type=adr.address_type, address=adr, data=data, rssi=rssi)]))
                    if self.active() and kind in (0, 2):
                        self.send_hci_packet(hci.HCI_LE_Advertising_Report_Event([R(event_type=4, address_type=adr.address_type, address=adr, data=rsp, rssi=rssi)]))
        p = self.pending_le_connection
        if p and getattr(pdu, 'kind', 0) == 0:
            if p.initiator_filter_policy == 1:
                if adr in self.accept: p.peer_address = adr
                else: return
            if p.peer_address == adr and adr not in self.le_connections: self.create_le_connection(adr)
    def active(self): return self.le_scan_type == 1 or bool(self.le_features & hci.LeFeatureMask.LE_EXTENDED_ADVERTISING)
    def accepts(self, adr):
        a = self.le_legacy_advertiser
        return (a.enabled and a.address == adr and a.advertising_type == 0) or any(x.enabled and x.address == adr and x.parameters and int(x.parameters.advertising_event_properties) & 1 for x in self.advertising_sets.values())
    def create_le_connection(self, adr):         # both ends at once, and only if the other still advertises
        p = self.pending_le_connection
        me = self.public_address if p.own_address_type in (0, 2) else self.random_address
        t = next((c for c in self.link.controllers if c is not self and c.accepts(adr)), None)
        if t is None or me in t.le_connections or self.link.deaf(name(self.public_address), name(t.public_address)): return
        self.pending_le_connection = None
        ext = isinstance(p, hci.HCI_LE_Extended_Create_Connection_Command)
        v = lambda n, one: getattr(p, n + 's')[0] if ext else getattr(p, one)
        interval, latency, timeout = v('connection_interval_min', 'connection_interval_min'), (p.max_latencies[0] if ext else p.max_latency), v('supervision_timeout', 'supervision_timeout')
        conn = bc.Connection(controller=self, handle=self.allocate_connection_handle(), role=hci.Role.CENTRAL, self_address=me, peer_address=adr,
                             link=self.link, transport=PhysicalTransport.LE, link_type=hci.HCI_Connection_Complete_Event.LinkType.ACL)
        self.le_connections[adr] = conn
        t.on_le_connect_ind(ll.ConnectInd(initiator_address=me, advertiser_address=adr, interval=interval, latency=latency, timeout=timeout))
        self.send_hci_packet(hci.HCI_LE_Connection_Complete_Event(status=0, connection_handle=conn.handle, role=hci.Role.CENTRAL, peer_address_type=adr.address_type,
            peer_address=adr, connection_interval=interval, peripheral_latency=latency, supervision_timeout=timeout, central_clock_accuracy=0))
        say(event='link-up', central=self.name, central_address=name(self.public_address), peripheral=name(adr))
    def exists(self, c):
        if c.initiator_filter_policy == 0 and c.peer_address in self.le_connections:
            self._send_hci_command_status(0x0b, c.op_code); return True
    def on_hci_le_create_connection_command(self, c): return None if self.exists(c) else super().on_hci_le_create_connection_command(c)
    def on_hci_le_extended_create_connection_command(self, c): return None if self.exists(c) else super().on_hci_le_extended_create_connection_command(c)

class FdSink:
    def __init__(s, fd): s.fd = fd
    def on_packet(s, packet):
        try: os.write(s.fd, packet)
        except OSError as e: say(event='vhci-write', error=str(e))

class Air:
    def __init__(s): s.link = Link(); s.vhci = {}; s.n = 0; s.next = 0
    def add(s):
        i = s.next; s.next += 1
        fd = os.open('/dev/vhci', os.O_RDWR | os.O_NONBLOCK)
        c = Ctl(f'vhci{i}', s.link, f'C0:DE:00:00:00:{i:02X}', FdSink(fd))
        os.write(fd, bytes([0xff, 0x00]))
        def readable():
            try: d = os.read(fd, 4096)
            except BlockingIOError: return
            except OSError as e: say(event='vhci-read', error=str(e)); asyncio.get_running_loop().remove_reader(fd); return
            if d and d[0] == 0xff: say(event='vhci', index=i, hci=d[2] | d[3] << 8, address=name(c.public_address)); return
            c.on_packet(d)
        asyncio.get_running_loop().add_reader(fd, readable)
        s.vhci[i] = (fd, c)
    def remove(s, i):
        fd, c = s.vhci.pop(i); asyncio.get_running_loop().remove_reader(fd)
        c.hci_sink = None; c.forget(8); s.link.controllers.discard(c); os.close(fd)
    async def client(s, r, w):
        s.n += 1; adr = f'C0:DE:00:00:01:{s.n:02X}'
        class Sink:
            def on_packet(_, p): w.write(p)
        c = Ctl(f'tcp{s.n}', s.link, adr, Sink()); parser = PacketParser(c); say(event='tcp', name=c.name, address=adr)
        try:
            while d := await r.read(65536): parser.feed_data(d)
        except ConnectionError: pass
        c.hci_sink = None; c.forget(8); s.link.controllers.discard(c); say(event='tcp-gone', name=c.name)
    def find(s, a, b):
        for c in s.link.controllers:
            for conn in list(c.le_connections.values()):
                o = s.link.other(conn)
                if o and a in (None, name(c.public_address)) and b in (None, name(o.controller.public_address)): yield conn
    def command(s, c):
        k = c['cmd']
        if k == 'rule': s.link.rules.append(Rule(c))
        elif k == 'clear':
            hits = [(r.kind, r.hits, r.n) for r in s.link.rules]; s.link.rules.clear(); s.link.killers.clear(); return {'hits': hits}
        elif k == 'link': s.link.event = (c['ms'], c.get('packets', 6))
        elif k == 'mtu': s.link.mtu = c['most']
        elif k == 'disconnect':
            for conn in list(s.find(c.get('a'), c.get('b'))): s.link.drop_link(conn, c.get('reason', 8))
        elif k == 'disconnect_after': s.link.killers.append({'a': c.get('a'), 'b': c.get('b'), 'pdus': c['pdus']})
        elif k == 'mute':
            what, where = (frozenset((c['a'], c['b'])), s.link.pairs) if c.get('b') else (c['a'], s.link.muted)
            (where.add if c['on'] else where.discard)(what)
            if c['on']:
                for conn in list(s.find(c['a'], c.get('b'))):
                    asyncio.get_running_loop().call_later(O.supervision_ms / 1000, lambda conn=conn: conn.controller.le_connections.get(conn.peer_address) is conn and s.link.drop_link(conn, 8))
        elif k == 'add': s.add()
        elif k == 'remove': s.remove(c['index'])
        elif k == 'stats':
            return {'links': [[name(x.controller.public_address), name(y.controller.public_address), x.role.name] for c_ in s.link.controllers
                              for x in c_.le_connections.values() if (y := s.link.other(x))],
                    'traffic': s.link.stats, 'rules': [(r.kind, r.hits, r.n) for r in s.link.rules],
                    'advertising': [name(c.public_address) for c in s.link.controllers if c.le_legacy_advertiser.enabled or any(x.enabled for x in c.advertising_sets.values())]}
        else: return {'error': 'unknown command'}
        return {'ok': True}
    async def control(s, r, w):
        while line := await r.readline():
            try: answer = s.command(json.loads(line))
            except Exception as e: answer = {'error': repr(e)}
            w.write((json.dumps(answer) + '\n').encode()); await w.drain()

async def main():
    air = Air()
    if os.path.exists(O.control): os.unlink(O.control)
    await asyncio.start_unix_server(air.control, O.control)
    if O.tcp: await asyncio.start_server(air.client, '127.0.0.1', O.tcp)
    for _ in range(O.vhci): air.add()
    say(event='ready'); await asyncio.Event().wait()
asyncio.run(main())
