#!/usr/bin/env python3
"""An independent qaul BLE peer on bumble (host stack in Python), written after a description of the formats only.

  peer.py --transport tcp-client:127.0.0.1:7300 --id 16HEX [--format v1|v2|both] [--role central|peripheral|both]
Transports: tcp-client:HOST:PORT (air.py --tcp), unix:/tmp/bt-server-le (btvirt -s), hci-socket:N (adapter N, must be down, unmanaged).
Prints one JSON object per line: ready found connected identified disconnected message sent failed flc frame error ok
Reads commands, one per line:
  send ID HEX | send-file ID PATH | send-random ID LENGTH [SEED]     ID = 16 hex, or any; message goes by v2 if possible, else v1
  send1 / send2 ...     force a format          broadcast HEX         peers         disconnect ID        connect ADDRESS
  raw ID HEX[,HEX...]   writes these octets as they are on the message characteristic (write without response / notification)
  rawreq ID HEX         the same with response          flc ID HEX    ask ID (v2: request id)
  l2open ID [PSM]       makes a channel (L2CAP)       l2raw ID HEX[,HEX...]   writes these octets into it as they are     l2close ID
  l2stranger ADDRESS PSM  connects, and makes a channel without having read or written anything
  advertise on|off      scan on|off      lose N (drop each Nth chunk that we send; 0 = off)      ack on|off       quit
"""
import argparse, asyncio, hashlib, json, random, struct, sys, time, zlib
from bumble import hci, core, l2cap, att
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Service, Characteristic, CharacteristicValue
from bumble.hci import Address, OwnAddressType
from bumble.transport import open_transport

P = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
P.add_argument('--transport', default='tcp-client:127.0.0.1:7300'); P.add_argument('--id', required=True)
P.add_argument('--format', choices=['v1', 'v2', 'both'], default='both'); P.add_argument('--role', choices=['central', 'peripheral', 'both'], default='both')
P.add_argument('--name', default=''); P.add_argument('--mtu', type=int, default=517); P.add_argument('--chunk', type=int, default=509, help='v2: largest chunk')
P.add_argument('--v1-cut', choices=['plain', 'safe'], default='plain', help='20-octet cut as Linux and Android do, or the one that survives their bugs')
P.add_argument('--v1-write', choices=['request', 'command'], default='request'); P.add_argument('--v1-hold', action='store_true', help='keep the link after reading the id')
P.add_argument('--android', action='store_true', help='as strict as Android: no stall timer, no repeated ack, no ack timeout')
P.add_argument('--l2cap', action='store_true', help='v2: listen on and use an L2CAP channel above 16000 octets'); P.add_argument('--l2cap-frames', action='store_true', help='with --l2cap: says its id by a channel, and all frames by it once the other did, as weir-nearby does'); P.add_argument('--idle', action='store_true', help='neither looks for others nor advertises')
P.add_argument('--max-links', type=int, default=8)
P.add_argument('--defer', type=float, default=8.0, help='role both: the higher id connects only after so many seconds'); P.add_argument('--interval', type=float, default=100)
P.add_argument('--random-address', action='store_true'); P.add_argument('--verbose', action='store_true'); P.add_argument('--debug', action='store_true'); P.add_argument('--hex', action='store_true', help='tells the octets of each message')
O = P.parse_args()
if O.debug: import logging; logging.basicConfig(level=logging.DEBUG)
ID = bytes.fromhex(O.id); assert len(ID) == 8, '--id takes 16 hex digits'
V1, V2 = O.format != 'v2', O.format != 'v1'
CENTRAL, PERIPHERAL = O.role != 'peripheral', O.role != 'central'
U1 = lambda n: UUID(f'99e91{n}-80ed-4943-9bcb-39c532a76023'); U2 = lambda n: UUID(f'4db14{n}-0bd0-4445-9906-47d9c4791cff')
S1, R1, M1 = U1('399'), U1('401'), U1('402'); S2, R2, M2, PSM2 = U2('399'), U2('401'), U2('402'), U2('403')
T0 = time.monotonic()
def say(event, **k): print(json.dumps({'event': event, 't': round(time.monotonic() - T0, 3), **k}), flush=True)
def got(link, fmt, sender, data, via='gatt', **k):
    if O.hex: k['hex'] = data.hex()
    say('message', **{'from': sender.hex() if sender else None}, format=fmt, length=len(data), sha256=hashlib.sha256(data).hexdigest(), via=via, head=data[:16].hex(), address=link.adr, **k)

# --- v1: $$ JSON $$ -----------------------------------------------------------------------------------------------
def v1_frame(sender, data):
    s8 = lambda b: '[' + ','.join(str(x - 256 if x > 127 else x) for x in b) + ']'
    return ('$${"qaul_id":' + s8(sender) + ',"message":' + s8(data) + '}$$').encode()
def v1_cut(f):
    if O.v1_cut == 'plain': return [f[i:i + 20] for i in range(0, len(f), 20)]
    first = 13 if (len(f) - 14) % 20 == 1 else 14
    return [f[:first]] + [f[i:i + 20] for i in range(first, len(f), 20)]
class V1In:
    """Strict: anything but exactly one frame between two $$ is an error, and the buffer starts anew."""
    def __init__(s): s.buf = b''
    def feed(s, chunk):
        s.buf += chunk
        if s.buf[:2] != b'$$'[:len(s.buf[:2])]: bad, s.buf = s.buf, b''; raise ValueError(f'does not start with $$: {bad[:24].hex()}')
        if len(s.buf) > 400000: s.buf = b''; raise ValueError('too long')
        if len(s.buf) < 6 or not s.buf.endswith(b'$$'): return None
        body, s.buf = s.buf[2:-2], b''
        j = json.loads(body)
        if set(j) != {'qaul_id', 'message'}: raise ValueError('keys ' + ','.join(j))
        u8 = lambda l: bytes(x & 255 if -128 <= x <= 127 and isinstance(x, int) else 1 / 0 for x in l)
        return u8(j['qaul_id']), u8(j['message'])

# --- v2: chunks -----------------------------------------------------------------------------------------------------
def head(q, i, resend=0): return struct.pack('>H', q << 11 | resend << 10 | i)
def v2_chunks(q, data, size, indicator=0):
    first, rest = data[:size - 19], data[size - 19:]
    parts = [rest[i:i + size - 2] for i in range(0, len(rest), size - 2)]
    n = 1 + len(parts); assert n <= 1023 and len(data) <= 65535
    return [head(q, 0) + struct.pack('>BHHI', indicator, len(data), n, zlib.crc32(data)) + ID + first] + [head(q, i + 1) + p for i, p in enumerate(parts)]
def v2_max(size): return min(size - 19 + 1022 * (size - 2), 65535)
class Slot:
    def __init__(s): s.parts = {}; s.total = s.size = s.crc = s.sender = None; s.ind = 0; s.top = -1; s.t = time.monotonic(); s.asked = 0

class Lost(Exception): pass
links = {}                                # by connection handle
known = {}                                # id hex -> address seen in adverts or by reading
lose = {'n': 0, 'c': 0}; acking = {'on': True}

class Link:
    def __init__(s, conn):
        s.conn, s.adr, s.id, s.psm, s.chan = conn, str(conn.peer_address).split('/')[0], None, 0, None
        s.out = conn.role == hci.Role.CENTRAL; s.v1in = V1In(); s.m1 = s.m2 = None; s.subscribed = False
        s.slots = {}; s.done = {}; s.sending = {}; s.q = 0; s.large = {}; s.largei = 0; s.lock = asyncio.Lock(); s.v1lock = asyncio.Lock(); s.fmt = None; s.closed = False; s.gone = asyncio.Event(); s.l2 = b''; s.l2told = s.by = False; s.told = False
    # -- identity
    def identified(s, i, how):
        if s.id == i: return
        s.id = i; known[i.hex()] = s.adr; say('identified', id=i.hex(), address=s.adr, how=how, role='central' if s.out else 'peripheral', format=s.fmt)
    # -- v2 output
    def can2(s): return bool(s.m2 or s.subscribed)
    def size(s): return 4092 if s.by else max(20, min(s.conn.att_mtu - 3, O.chunk, 509))
    async def put(s, frame, chunk=False, response=False):
        if s.closed: raise Lost('link is down')
        if chunk and lose['n']:
            lose['c'] += 1
            if lose['c'] % lose['n'] == 0: return
        if O.verbose: say('frame', dir='out', hex=frame[:40].hex(), length=len(frame), address=s.adr)
        if s.by: s.chan.write(struct.pack('>I', len(frame)) + frame); await s.chan.drain()
        elif s.m2: await s.m2.write_value(frame, with_response=response)
        elif s.subscribed: await dev.notify_subscriber(s.conn, char2, frame)
        else: raise Lost('no v2 channel')
        while len(getattr(dev.host.le_acl_packet_queue, '_packets', ())) > 40: await asyncio.sleep(0.005)   # no endless queue in our own stack
    async def hello(s):
        for _ in range(40):
            if s.closed or (s.told and s.id): return
            if not s.can2(): await asyncio.sleep(0.2); continue
            try: await s.put(b'\x01' + ID); s.told = True
            except Exception as e: return say('error', what='hello', error=repr(e))
            await asyncio.sleep(1.5)
    async def send2(s, data):
        """True when acknowledged."""
        if O.l2cap and not O.l2cap_frames and (s.chan or s.psm and s.psm > 0) and len(data) > 16000:
            await s.open(); s.chan.write(struct.pack('>I', len(data)) + data); await s.chan.drain(); return 'l2cap'
        cap = v2_max(s.size())
        if len(data) <= cap: return await s.part(data, 0)
        n = -(-len(data) // cap)
        if n > 4: raise Lost(f'{len(data)} octets do not fit 4 parts')
        s.largei = s.largei % 15 + 1
        if n == 4 and s.largei % 2 == 0: s.largei = s.largei % 15 + 1
        for i in range(n): await s.part(data[i * cap:(i + 1) * cap], (s.largei << 4 | n << 2 | i) & 0xff | (0x10 if n == 4 else 0))
        return 'ack'
    async def part(s, data, ind):
        for _ in range(29):
            s.q = s.q % 29 + 1
            if s.q not in s.sending: break
        else: raise Lost('all 29 queues busy')
        q, chunks, fut = s.q, v2_chunks(s.q, data, s.size(), ind), asyncio.get_running_loop().create_future()
        s.sending[q] = (chunks, fut)
        try:
            async with s.lock:
                for c in chunks: await s.put(c, True)
            if O.android: return await asyncio.wait_for(fut, 60)
            for attempt in range(5):
                try: return await asyncio.wait_for(asyncio.shield(fut), 4)
                except asyncio.TimeoutError:
                    say('flc', what='ack-timeout', queue=q, attempt=attempt)
                    first = bytes([chunks[0][0] | 4]) + chunks[0][1:]
                    if attempt < 2: await s.put(first)                       # wakes the receiver: it asks for what is missing, or acks again
                    else:
                        async with s.lock:
                            for c in chunks: await s.put(bytes([c[0] | 4]) + c[1:])
            raise Lost('no acknowledgement')
        finally: s.sending.pop(q, None)
    # -- v2 input
    def frame(s, f):
        if O.verbose: say('frame', dir='in', hex=f[:40].hex(), length=len(f), address=s.adr)
        if not f: return say('error', what='empty frame', address=s.adr)
        s.fmt = 'v2'
        if f[0] >> 3 == 0: return s.flc(f)
        if len(f) < 2: return say('error', what='short frame', hex=f.hex())
        h, = struct.unpack_from('>H', f); q, resend, i = h >> 11, h >> 10 & 1, h & 1023
        if q > 29: return say('error', what='reserved queue', queue=q)
        sl = s.slots.get(q)
        if sl is None:
            if resend:
                if q in s.done and not O.android: s.say_ack(q)
                return
            sl = s.slots[q] = Slot(); s.done.pop(q, None)
        elif not resend and i == 0 and 0 in sl.parts:
            sl = s.slots[q] = Slot()
        if i == 0:
            if len(f) < 19: return say('error', what='short first chunk', hex=f.hex())
            sl.ind, sl.size, sl.total, sl.crc = struct.unpack_from('>BHHI', f, 2); sl.sender = f[11:19]; sl.parts[0] = f[19:]
            if not 1 <= sl.total <= 1023: s.slots.pop(q); return say('error', what='chunk count', n=sl.total)
        elif i not in sl.parts: sl.parts[i] = f[2:]
        sl.t = time.monotonic()
        if not resend:
            if i > sl.top + 1: s.ask(q, [j for j in range(sl.top + 1, i) if j not in sl.parts])
            sl.top = max(sl.top, i)
        elif i == 0 and not O.android: s.ask(q, [j for j in range(sl.total) if j not in sl.parts])
        if sl.total and len(sl.parts) >= sl.total: s.whole(q, sl)
    def ask(s, q, missing):
        for k in range(0, len(missing), 9): s.later(b'\x02' + b''.join(head(q, j) for j in missing[k:k + 9]))
        if missing: say('flc', what='ask-missing', queue=q, n=len(missing), address=s.adr)
    def later(s, f): asyncio.ensure_future(s.quiet(f))
    async def quiet(s, f, chunk=False):
        try: await s.put(f, chunk)
        except Exception as e: say('error', what='send', error=repr(e))
    def say_ack(s, q):
        if acking['on']: s.later(bytes([3, q]))
    def whole(s, q, sl):
        del s.slots[q]
        data = b''.join(sl.parts.get(j, b'') for j in range(sl.total))
        if len(data) != sl.size or zlib.crc32(data) != sl.crc:
            s.later(bytes([4, q, 0])); return say('error', what='crc or size', queue=q, size=sl.size, got=len(data))
        s.done[q] = 1; s.say_ack(q)
        if s.id and sl.sender != s.id: say('error', what='sender in chunk is not the link', link=s.id.hex(), chunk=sl.sender.hex())
        if not sl.ind: return got(s, 'v2', sl.sender, data, via='l2frames' if s.by else 'gatt')
        i, n, p = sl.ind >> 4, (sl.ind >> 2 & 3) or 4, sl.ind & 3
        L = s.large.setdefault(i, {}); L[p] = data
        if len(L) == n: del s.large[i]; got(s, 'v2', sl.sender, b''.join(L[k] for k in range(n)), parts=n)
    def flc(s, f):
        t = f[0]
        if t == 0: s.later(b'\x01' + ID)
        elif t == 1:
            if len(f) != 9: return say('error', what='id length', hex=f.hex())
            s.identified(f[1:], 'frame')
            if not s.told: asyncio.ensure_future(s.hello())
        elif t == 2:
            if len(f) % 2 == 0: return say('error', what='missing list', hex=f.hex())
            want = struct.unpack(f'>{len(f) // 2}H', f[1:]); say('flc', what='asked', n=len(want), address=s.adr)
            for h in want:
                e = s.sending.get(h >> 11); i = h & 1023
                if e and i < len(e[0]): c = e[0][i]; asyncio.ensure_future(s.quiet(bytes([c[0] | 4]) + c[1:], True))
        elif t in (3, 4):
            e = s.sending.get(f[1] if len(f) > 1 else 0)
            if e and not e[1].done(): e[1].set_result('ack') if t == 3 else e[1].set_exception(Lost('peer answered ACK_ERROR'))
        elif t == 5:
            if len(f) > 1 and f[1] in s.done: s.say_ack(f[1])
        if t in (0, 5, 6, 7) : say('flc', what=['ask-id', '', '', '', '', 'ask-ack', 'ping', 'neighbours'][t], hex=f.hex(), address=s.adr)
    def stalled(s):
        if O.android: return
        for q, sl in list(s.slots.items()):
            if time.monotonic() - sl.t > 2:
                sl.t = time.monotonic(); sl.asked += 1
                if sl.asked > 8: del s.slots[q]; say('error', what='stalled', queue=q); continue
                s.ask(q, [j for j in range(sl.total or 1) if j not in sl.parts][:18])
    # -- L2CAP
    async def open(s):
        if not s.chan: s.channel(await s.conn.create_l2cap_channel(l2cap.LeCreditBasedChannelSpec(psm=s.psm, mtu=2048, mps=1024)))
        if O.l2cap_frames: s.l2hello()
    def channel(s, ch):
        if s.chan: s.chan.abort()
        s.chan, s.l2, s.l2told, s.by = ch, b'', False, False; ch.sink = s.l2in
        def closed():
            say('l2closed', address=s.adr, id=s.id.hex() if s.id else None)
            if s.chan is ch: s.chan, s.by = None, False
        ch.on('close', closed)
        say('l2cap', address=s.adr, mtu=ch.mtu, peer_mtu=ch.peer_mtu)
    def l2hello(s):
        if not s.l2told: s.l2told = True; s.chan.write(struct.pack('>I', 9) + b'\x01' + ID)
    def l2frame(s, f):
        if not s.by and f[0] == 1: s.l2hello(); s.by = True; say('l2carries', address=s.adr)
        s.frame(f)
    def l2in(s, data):
        s.l2 += data
        while len(s.l2) >= 4:
            n, = struct.unpack_from('>I', s.l2)
            if not 0 < n <= 1 << 24: s.l2 = b''; return say('error', what='l2cap length', n=n)
            if len(s.l2) < 4 + n: return
            one, s.l2 = s.l2[4:4 + n], s.l2[4 + n:]
            if O.l2cap_frames and n <= 16000: s.l2frame(one)
            else: got(s, 'v2', s.id, one, via='l2cap')
    # -- v1
    async def send1(s, data):
        async with s.v1lock:
            if not s.m1: await discover(s, want1=True)
            if not s.m1: raise Lost('no v1 service')
            for c in v1_cut(v1_frame(ID, data)):
                if lose['n']:
                    lose['c'] += 1
                    if lose['c'] % lose['n'] == 0: continue
                await s.m1.write_value(c, with_response=O.v1_write == 'request')
                while len(getattr(dev.host.le_acl_packet_queue, '_packets', ())) > 40: await asyncio.sleep(0.005)
        return 'written'
    def chunk1(s, c):
        if O.verbose: say('frame', dir='in', hex=c[:40].hex(), length=len(c), address=s.adr)
        try: m = s.v1in.feed(bytes(c))
        except Exception as e: return say('error', what='v1', error=repr(e), address=s.adr)
        if m: got(s, 'v1', *m)

async def discover(s, want1=False):
    """bumble waits 30 s for an answer on a link that is gone: we do not."""
    t = asyncio.ensure_future(discover_(s, want1)); g = asyncio.ensure_future(s.gone.wait())
    await asyncio.wait({t, g}, return_when=asyncio.FIRST_COMPLETED, timeout=15); g.cancel()
    if not t.done(): t.cancel(); raise Lost('link went down while discovering')
    return t.result()
async def discover_(s, want1=False):
    """Central's way: services, CCCD, id, MTU, PSM (order of the newest Android), then our id. v1: id only."""
    p = Peer(s.conn)
    await p.discover_services(); fmts = []
    for svc in p.services:
        if svc.uuid == S2 and V2 and not want1:
            await svc.discover_characteristics(); cs = {c.uuid: c for c in svc.characteristics}
            if M2 not in cs or R2 not in cs: say('error', what='v2 service without characteristics', address=s.adr); continue
            fmts.append('v2')
            await cs[M2].subscribe(lambda v: s.frame(bytes(v)))
            i = bytes(await cs[R2].read_value())
            if O.mtu > 23: await p.request_mtu(O.mtu)
            if PSM2 in cs:
                try: s.psm = struct.unpack('>i', bytes(await cs[PSM2].read_value()))[0]
                except Exception as e: say('error', what='psm', error=repr(e))
            s.m2 = cs[M2]; s.fmt = 'v2'
            if len(i) == 8: s.identified(i, 'read')
            else: say('error', what='id read', hex=i.hex())
            asyncio.ensure_future(s.hello())
        if svc.uuid == S1 and V1:
            await svc.discover_characteristics(); cs = {c.uuid: c for c in svc.characteristics}
            if M1 not in cs or R1 not in cs: say('error', what='v1 service without characteristics', address=s.adr); continue
            fmts.append('v1'); i = bytes(await cs[R1].read_value()); s.m1 = cs[M1]; s.fmt = s.fmt or 'v1'
            if len(i) == 8: s.identified(i, 'read')
            else: say('error', what='id read', hex=i.hex())
    say('services', address=s.adr, formats=fmts, id=s.id.hex() if s.id else None, mtu=s.conn.att_mtu, psm=s.psm)
    return fmts

seen, trying, failed, outbound = {}, set(), {}, asyncio.Lock()
def on_advertisement(a):
    uuids = set()
    for t in (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, AdvertisingData.INCOMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS):
        for u in a.data.get_all(t) or []: uuids |= set(u if isinstance(u, (list, tuple)) else [u])
    fm = [f for f, u, on in (('v1', S1, V1), ('v2', S2, V2)) if u in uuids and on]
    if not fm: return
    adr = a.address; key = str(adr); nm = a.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) or a.data.get(AdvertisingData.SHORTENED_LOCAL_NAME)
    md = a.data.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA); prefix = None
    if md:
        cid, d = md if isinstance(md, tuple) else (struct.unpack_from('<H', md)[0], md[2:])
        if cid == 0xFFFF and len(d) >= 5: prefix = bytes(d[:5])
    e = seen.get(key)
    if not e or set(fm) - set(e['fm']):
        e = seen[key] = {'adr': adr, 'first': e['first'] if e else time.monotonic(), 'fm': sorted(set(fm) | set(e['fm'] if e else [])), 'prefix': prefix or (e or {}).get('prefix'), 'read': False}
        say('found', address=key.split('/')[0], formats=e['fm'], name=str(nm) if nm else None, rssi=a.rssi, prefix=prefix.hex() if prefix else None)
    if CENTRAL and want(key, e) and key not in trying: trying.add(key); asyncio.ensure_future(connect(e['adr'], e))
def want(key, e):
    if len(links) >= O.max_links or any(str(l.conn.peer_address) == key for l in links.values()): return False
    if failed.get(key, 0) > time.monotonic(): return False
    if 'v2' in e['fm']:
        if PERIPHERAL and e['prefix'] and ID[:5] > e['prefix'] and time.monotonic() - e['first'] < O.defer: return False
        return True
    return not e['read']
waiters = {}
class Dev(Device):                        # bumble forgets our address type when any other connection arrives meanwhile
    connect_own_address_type = property(lambda s: OWN, lambda s, v: None)
async def dial(adr, key):
    """bumble's connect() returns at ANY new connection, also an inbound one of somebody else: so wait for the right one."""
    fut = waiters[key] = asyncio.get_running_loop().create_future()
    try:
        await dev.connect(adr, own_address_type=OWN, timeout=10)
        for _ in range(100):
            if fut.done(): return fut.result()
            mine = next((l.conn for l in links.values() if str(l.conn.peer_address) == key), None)
            if mine: break
            await asyncio.sleep(0.05)
        try: await dev.host.send_sync_command(hci.HCI_LE_Create_Connection_Cancel_Command())     # or it fires later
        except Exception: pass
        await asyncio.sleep(0.05)
        mine = next((l.conn for l in links.values() if str(l.conn.peer_address) == key), None)
        if mine: return mine
        raise Lost('no connection')
    finally: waiters.pop(key, None)
async def connect(adr, e=None, hold=False):
    key = str(adr)
    try:
        async with outbound:
            if any(str(l.conn.peer_address) == key for l in links.values()): return next(l for l in links.values() if str(l.conn.peer_address) == key)
            c = await dial(adr, key)
        s = link_of(c); fm = await discover(s)
        if e is not None and fm: e['read'] = True
        if fm == ['v1'] and not O.v1_hold and not hold: await c.disconnect()
        if not fm: failed[key] = time.monotonic() + 60; await c.disconnect()
        return s
    except Exception as x:
        say('error', what='connect', address=key, error=repr(x)); failed[key] = time.monotonic() + 3
        for l in list(links.values()):
            if str(l.conn.peer_address) == key and l.out and not l.id:
                try: await l.conn.disconnect()
                except Exception: pass
    finally: trying.discard(key)
def on_connection(c):
    f = waiters.get(str(c.peer_address))
    if f and not f.done(): f.set_result(c)
    s = link_of(c); say('connected', address=s.adr, role='central' if s.out else 'peripheral', mtu=c.att_mtu)
    def gone(reason):
        s.closed = True; s.gone.set(); links.pop(c.handle, None); say('disconnected', address=s.adr, id=s.id.hex() if s.id else None, reason=int(reason))
        for ch, f in s.sending.values():
            if not f.done(): f.set_exception(Lost('link is down'))
        if PERIPHERAL and adv['on']: asyncio.ensure_future(advertise())
    c.on('disconnection', gone)
    c.on('connection_att_mtu_update', lambda: say('mtu', address=s.adr, mtu=c.att_mtu))
    if PERIPHERAL and not s.out and adv['on'] and len(links) < O.max_links: asyncio.ensure_future(advertise())
def link_of(conn):
    """By the connection, not by its handle: bumble handles a write also after the connection that it came by ended."""
    if not hasattr(conn, 'of_qaul'): conn.of_qaul = links[conn.handle] = Link(conn)
    return conn.of_qaul
adv = {'on': False}; advlock = asyncio.Lock()
async def advertise(on=True):
    async with advlock:
        adv['on'] = on
        try:
            await dev.stop_advertising()
            if not on or not PERIPHERAL: return
            nm = (O.name or ''.join(random.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(5)))[:5]; O.name = nm
            u = lambda x: (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(x)); flags = (AdvertisingData.FLAGS, bytes([6])); n = (AdvertisingData.COMPLETE_LOCAL_NAME, nm.encode())
            m = (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b'\xff\xff' + ID[:5])
            a, r = ([flags, u(S2), m], [u(S1), n] if V1 else []) if V2 else ([flags, u(S1), n], [])
            await dev.start_advertising(advertising_data=bytes(AdvertisingData(a)), scan_response_data=bytes(AdvertisingData(r)), own_address_type=OWN,
                                        advertising_interval_min=O.interval, advertising_interval_max=O.interval)
        except Exception as e: say('error', what='advertise', error=repr(e))
async def scan(on=True):
    if on and CENTRAL: await dev.start_scanning(own_address_type=OWN, filter_duplicates=False, scanning_phys=(hci.HCI_LE_1M_PHY,))
    elif dev.is_scanning: await dev.stop_scanning()

def pick(i, can=None):
    for l in list(links.values()):
        if (i == 'any' or (l.id and l.id.hex() == i) or l.adr == i) and (can is None or can(l)): return l
async def transmit(i, data, fmt=None):
    t = time.monotonic()
    try:
        l = pick(i, lambda l: l.can2()) if fmt != 'v1' else None
        if l and fmt in (None, 'v2'): how, f = await l.send2(data), 'v2'
        else:
            if fmt == 'v2' or not V1: raise Lost('no v2 link to ' + i)
            l = pick(i)
            if not l:
                a = known.get(i); e = next((e for k, e in seen.items() if k.split('/')[0] == a), None)
                if not e: raise Lost('unknown id ' + i)
                l = await connect(e['adr'], None, True)
                if not l: raise Lost('cannot connect')
            how, f = await l.send1(data), 'v1'
        say('sent', to=i, format=f, length=len(data), sha256=hashlib.sha256(data).hexdigest(), how=how, seconds=round(time.monotonic() - t, 3))
    except Exception as x: say('failed', to=i, length=len(data), sha256=hashlib.sha256(data).hexdigest(), error=repr(x))
async def command(line):
    w = line.split()
    if not w: return
    c, a = w[0], w[1:]
    try:
        if c in ('send', 'send1', 'send2'): asyncio.ensure_future(transmit(a[0], bytes.fromhex(a[1]) if len(a) > 1 else b'', {'1': 'v1', '2': 'v2'}.get(c[4:])))
        elif c in ('send-file', 'send-file1', 'send-file2'): asyncio.ensure_future(transmit(a[0], open(a[1], 'rb').read(), {'1': 'v1', '2': 'v2'}.get(c[9:])))
        elif c in ('send-random', 'send-random1', 'send-random2'):
            asyncio.ensure_future(transmit(a[0], random.Random(int(a[2]) if len(a) > 2 else 1).randbytes(int(a[1])), {'1': 'v1', '2': 'v2'}.get(c[11:])))
        elif c == 'broadcast':
            for l in list(links.values()): asyncio.ensure_future(transmit(l.id.hex() if l.id else l.adr, bytes.fromhex(a[0])))
        elif c in ('raw', 'rawreq'):
            l = pick(a[0])
            for h in a[1].split(','):
                f = bytes.fromhex(h)
                if l.can2(): await l.put(f, response=c == 'rawreq')
                else:
                    if not l.m1: await discover(l, True)
                    await l.m1.write_value(f, with_response=c == 'rawreq')
            say('ok', cmd=c)
        elif c == 'l2open':
            l = pick(a[0]); l.psm = int(a[1]) if len(a) > 1 else l.psm; await l.open(); say('ok', cmd=c)
        elif c == 'l2raw':
            for h in a[1].split(','): pick(a[0]).chan.write(bytes.fromhex(h))
            say('ok', cmd=c)
        elif c == 'l2close': await pick(a[0]).chan.disconnect(); say('ok', cmd=c)
        elif c == 'l2stranger':
            adr = Address(a[0], Address.PUBLIC_DEVICE_ADDRESS); l = link_of(await dial(adr, str(adr))); l.psm = int(a[1]); await l.open(); say('ok', cmd=c)
        elif c == 'flc': await pick(a[0]).put(bytes.fromhex(a[1])); say('ok', cmd=c)
        elif c == 'ask': await pick(a[0]).put(b'\0'); say('ok', cmd=c)
        elif c == 'peers': say('peers', links=[{'address': l.adr, 'id': l.id.hex() if l.id else None, 'role': 'central' if l.out else 'peripheral', 'format': l.fmt, 'mtu': l.conn.att_mtu, 'v2': l.can2(), 'psm': l.psm} for l in links.values()], known=known)
        elif c == 'disconnect':
            l = pick(a[0]); await l.conn.disconnect() if l else say('error', what='no such link')
        elif c == 'connect': asyncio.ensure_future(connect(Address(a[0], Address.PUBLIC_DEVICE_ADDRESS if len(a) < 2 else Address.RANDOM_DEVICE_ADDRESS), None, True))
        elif c == 'advertise': await advertise(a[0] == 'on'); say('ok', cmd=c)
        elif c == 'scan': await scan(a[0] == 'on'); say('ok', cmd=c)
        elif c == 'lose': lose.update(n=int(a[0]), c=0); say('ok', cmd=c)
        elif c == 'ack': acking['on'] = a[0] == 'on'; say('ok', cmd=c)
        elif c == 'quit': return True
        else: say('error', what='unknown command', cmd=c)
    except Exception as x: say('error', what=c, error=repr(x))

async def main():
    global dev, char2, OWN
    t = await open_transport(O.transport)
    r = random.Random(ID).randbytes(6); rnd = bytes([r[0] | 0xc0]) + r[1:]
    OWN = OwnAddressType.RANDOM if O.random_address else OwnAddressType.PUBLIC
    cfg = DeviceConfiguration(name=O.name or 'qaul', address=Address(':'.join(f'{b:02X}' for b in rnd), Address.RANDOM_DEVICE_ADDRESS), le_enabled=True, classic_enabled=False, gap_service_enabled=True)
    dev = Dev.from_config_with_hci(cfg, t.source, t.sink)
    Pr = Characteristic.Properties; RW = Characteristic.READABLE | Characteristic.WRITEABLE
    dev.gatt_server.max_mtu = O.mtu
    if V1 and PERIPHERAL:
        dev.add_service(Service(S1, [Characteristic(R1, Pr.READ, Characteristic.READABLE, CharacteristicValue(read=lambda c: ID)),
            Characteristic(M1, Pr.WRITE | Pr.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE, CharacteristicValue(write=lambda c, v: link_of(c).chunk1(v)))]))
    if V2:
        psm = -1
        if O.l2cap:
            def incoming(ch):
                link_of(ch.connection).channel(ch)
            psm = dev.create_l2cap_server(l2cap.LeCreditBasedChannelSpec(mtu=2048, mps=1024, max_credits=64), incoming).psm
        char2 = Characteristic(M2, Pr.WRITE | Pr.WRITE_WITHOUT_RESPONSE | Pr.NOTIFY, RW, CharacteristicValue(read=lambda c: b'', write=lambda c, v: link_of(c).frame(bytes(v))))
        def subscribed(conn, notify, indicate):
            l = link_of(conn); l.subscribed = bool(notify); say('subscribed', address=l.adr, on=l.subscribed)
            if l.subscribed: asyncio.ensure_future(l.hello())
        char2.on('subscription', lambda conn, notify, indicate: subscribed(conn, notify, indicate))
        if PERIPHERAL:
            dev.add_service(Service(S2, [Characteristic(R2, Pr.READ, Characteristic.READABLE, CharacteristicValue(read=lambda c: ID)), char2,
                Characteristic(PSM2, Pr.READ, Characteristic.READABLE, CharacteristicValue(read=lambda c: struct.pack('>i', psm)))]))
    dev.on('connection', on_connection); dev.on('advertisement', on_advertisement)
    await dev.power_on()
    say('ready', address=str(dev.public_address if OWN == OwnAddressType.PUBLIC else dev.random_address).split('/')[0], id=ID.hex(), format=O.format, role=O.role)
    if not O.idle: await advertise(); await scan()
    async def tick():
        while True:
            await asyncio.sleep(0.5)
            for l in list(links.values()): l.stalled()
    asyncio.ensure_future(tick())
    rd = asyncio.StreamReader(); await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(rd), sys.stdin)
    while line := await rd.readline():
        if await command(line.decode()): break
    await t.close()
asyncio.run(main())
