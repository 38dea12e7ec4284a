#!/usr/bin/env python3
"""Measures weir-nearby: in a machine of scripts/vm, started by `bench`, which says what is measured.

  bench.py WHAT[=COUNT]      measures, and writes $VM_OUT/figures.jsonl
  bench.py --table FILE      prints what was measured
"""
import http.client, itertools, json, os, queue, random, re, socket, statistics, string, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
NEARBY, PREDECESSOR = os.environ.get('WEIR_NEARBY'), os.environ.get('WEIR_PREDECESSOR')
OUT = os.environ.get('VM_OUT', '.')
# A link as radios have it: an event each 30 ms, BlueZ's least, and six packets of each end in it.
RADIO = dict(ms=30, packets=6)
AT_ONCE = dict(ms=0)
CONF = """[General]
ControllerMode = le
ReverseServiceDiscovery = false
NameResolving = false
[GATT]
Cache = no
Channels = 1
ExchangeMTU = 517
[Policy]
AutoEnable = true
"""
# Advertisements each 100 to 150 ms, where BlueZ's own are 1.28 s apart.
QUICK = """[LE]
MinAdvertisementInterval = 160
MaxAdvertisementInterval = 240
"""
address = 'C0:DE:00:00:00:{:02X}'.format


def figure(name, **fields):
    with open(f'{OUT}/figures.jsonl', 'a') as file:
        print(json.dumps(dict(figure=name, **fields)), file=file)
    print(json.dumps(dict(figure=name, **fields)), flush=True)


def spread(values):
    return dict(median=statistics.median(values), least=min(values), most=max(values), tries=len(values))


# --- the air, BlueZ, and programs -------------------------------------------------------------------------------------
class Lab:
    """Controllers that are made up, and BlueZ."""

    def __init__(self, controllers):
        self.count, self.bluetoothd = controllers, None
        subprocess.run(['modprobe', 'hci_vhci'], check=True)
        for folder in ('/run/dbus', '/run/bt', '/run/weir'):
            os.makedirs(folder, exist_ok=True)
        subprocess.run(['dbus-daemon', '--system', '--fork', '--nopidfile'], check=True)
        self.air = subprocess.Popen([sys.executable, f'{HERE}/air.py', '--vhci', str(controllers)], stdout=open(f'{OUT}/air', 'w'), stderr=subprocess.STDOUT)
        while not os.path.exists('/run/air.sock'):
            time.sleep(0.1)
        if os.environ.get('WEIR_BTMON'):
            subprocess.Popen(['btmon', '-w', f'{OUT}/btmon'], stdout=subprocess.DEVNULL)
        self.begin()

    def begin(self):
        """BlueZ anew: it knows nobody."""
        if self.bluetoothd:
            self.bluetoothd.terminate()
            self.bluetoothd.wait()
        with open('/run/bt/main.conf', 'w') as file:
            file.write(CONF + (QUICK if os.environ.get('WEIR_QUICK') else ''))
        log = open(f'{OUT}/bluetoothd', 'a')
        self.bluetoothd = subprocess.Popen(['/usr/libexec/bluetooth/bluetoothd', '-n', '-f', '/run/bt/main.conf'], stdout=log, stderr=log)
        for _ in range(100):
            time.sleep(0.3)
            told = subprocess.run(['timeout', '5', 'bluetoothctl', 'list'], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if told.stdout.count('Controller') >= self.count:
                return
        raise SystemExit('BlueZ does not know its adapters')

    def ask(self, **command):
        with socket.socket(socket.AF_UNIX) as end:
            end.connect('/run/air.sock')
            end.sendall(json.dumps(command).encode() + b'\n')
            return json.loads(end.makefile().readline())


class Asked(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('weir')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Program:
    """A weir-nearby, on an adapter of its own. What it tells is in `events`, each with when it was told."""
    made, running = itertools.count(), []

    def __init__(self, number, form='both', links=4, events=None, channels=True):
        self.events = events or queue.Queue()
        self.socket, self.log, self.own = f'/run/weir/{next(Program.made)}.sock', [], None
        self.begun = time.monotonic()
        self.number = number
        command = [NEARBY, '--socket', self.socket, 'run', '--adapter', f'hci{number}', '--state', self.socket[:-4], '--format', form, '--links', str(links)]
        if not channels:
            command.append('--no-channels')
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self.read_log, daemon=True).start()
        threading.Thread(target=self.read, daemon=True).start()
        self.asked = Asked(self.socket)
        Program.running.append(self)

    def read_log(self):
        with open(f'{OUT}/run{self.number}', 'a') as file:
            for line in self.process.stderr:
                now = time.monotonic()
                print(f'{now - self.begun:.3f}', line, end='', file=file, flush=True)
                self.log.append((now - self.begun, line))
                self.own = self.own or (found := re.search(r'own=([0-9a-f]{16})', line)) and found[1]

    def read(self):
        while self.process.poll() is None:
            try:
                asked = Asked(self.socket)
                asked.request('GET', '/v1/messages')
                answer = asked.getresponse()
                while line := answer.readline():
                    if line.strip():
                        self.events.put((time.monotonic(), self, json.loads(line)))
                return
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)

    def ask(self, method, path, body=None):
        for _ in range(100):
            try:
                self.asked.request(method, path, body and json.dumps(body), {'content-type': 'application/json'} if body else {})
                answer = self.asked.getresponse()
                told = answer.read()
                if answer.status != 200:
                    raise SystemExit(f'{path}: {answer.status} {told[:300]}')
                return json.loads(told)
            except (OSError, http.client.HTTPException):
                self.asked.close()
                time.sleep(0.05)
        raise SystemExit(f'{self.socket} does not answer')

    def say(self, text, to='all'):
        return self.ask('POST', '/v1/messages', dict(to=to, text=text))['peers']

    def linked(self):
        return sum(bool(peer['linked']) for peer in self.ask('GET', '/v1/peers')['peers'])

    def until(self, test, patience=60):
        """The first event that passes, and when it was told."""
        end = time.monotonic() + patience
        while True:
            when, _, event = self.events.get(timeout=max(0, end - time.monotonic()))
            if test(event):
                return when, event

    def called(self):
        """Whether it called, for its last connection."""
        return next((found[1] for _, line in reversed(self.log) if (found := re.search(r'a connection .*caller=(\w+)', line))), None)

    def since(self, what):
        return next((round(when, 2) for when, line in self.log if what in line), None)

    def end(self):
        Program.running.remove(self)
        self.process.terminate()
        self.process.wait()


def until_linked(program, count=1, patience=90):
    begun = time.monotonic()
    while program.linked() < count:
        if time.monotonic() > begun + patience:
            raise SystemExit(f'{program.linked()} connections of {count} after {patience} s')
        time.sleep(0.2)


# --- messages of a length ---------------------------------------------------------------------------------------------
POOL = ''.join(random.Random(1).choices(string.ascii_letters + string.digits, k=70_000))


def octets_of(text):
    """Octets of the message that says so many of text: see envelope.rs."""
    length = lambda n: 1 + (n > 127) + (n > 16_383)
    message = 40 + 1 + length(text) + text + 7
    signed = 66 + 1 + length(message) + message
    return 1 + length(signed) + signed


def text_of(number, octets):
    """A text that makes a message of so many octets, or of the least that there is."""
    head = f'{number:06}:'
    # No text may be longer, as a message has 65,536 at most with the longest numbers that there are.
    rest = min(max(0, octets - octets_of(len(head))), 65_407 - len(head))
    while rest and octets_of(len(head) + rest) > octets:
        rest -= 1
    return head + POOL[number % 4_000:][:rest]


# --- what is measured -------------------------------------------------------------------------------------------------
def first(count):
    """From a program's start to a message heard: one beside another that runs, and two at once."""
    lab = Lab(2)
    for name in ('beside', 'together'):
        tries, phases = [], []
        for turn in range(count):
            lab.begin()
            heard = queue.Queue()
            one = Program(0, events=heard)
            if name == 'beside':
                while not one.since('searching for others'):
                    time.sleep(0.1)
                time.sleep(3 + turn % 5 * 0.7)
            other = Program(1, events=heard)
            try:
                while True:
                    when, program, event = heard.get(timeout=90)
                    if event['event'] == 'near' and (program is other or name == 'together'):
                        program.say('hello')
                    if event['event'] == 'message':
                        break
                tries.append(round(when - other.begun, 3))
                caller = [it.number for it in (one, other) if it.since('caller=true')]
                phases.append(dict(looks=other.since('searching for others'), connection=other.since('a connection'), near=other.since('is near'),
                                   heard=tries[-1], called=caller, lower='other' if other.own < one.own else 'one'))
                print(phases[-1], flush=True)
            except queue.Empty:
                print('nothing heard within 90 s', flush=True)
                phases.append(dict(heard=None))
            one.end(), other.end()
        figure(f'first message, {name}', unit='s', **spread(tries or [0]), asked=count, all=tries, phases=phases)


def ours(lab, link, mtu, octets, messages, times, channels=False):
    lab.begin()
    lab.ask(cmd='mtu', most=mtu)
    one, other = (Program(number, 'v2', 1, channels=channels) for number in (0, 1))
    until_linked(one), until_linked(other)
    time.sleep(2)
    if mtu == 23 and one.called() != 'true':
        # It is writes that have 20 octets: of what is notified BlueZ 5.66 leaves two away.
        one, other = other, one
    ways = f'{address(one.number)}>{address(other.number)}'
    lab.ask(cmd='link', **link)
    rates, number = [], 0
    before = lab.ask(cmd='stats')['traffic'].get(ways, [0, 0, 0])
    for _ in range(times):
        begun = time.monotonic()
        for _ in range(messages):
            number += 1
            one.say(text_of(number, octets))
        last = f'{number:06}:'
        when, _ = other.until(lambda it: it['event'] == 'message' and it['text'].startswith(last), 120)
        rates.append(round(messages * octets / (when - begun)))
        print('ours', mtu, link, rates[-1], flush=True)
    after = lab.ask(cmd='stats')['traffic'][ways]
    lab.ask(cmd='link', **AT_ONCE)
    lab.ask(cmd='mtu', most=0)
    one.end(), other.end()
    return dict(unit='octets/s', **spread(rates), all=rates, octets=octets, packets=after[0] - before[0], called=one.called())


class End:
    """One of examples/predecessor.rs, and what it told."""

    def __init__(self, number, *arguments):
        self.told = queue.Queue()
        self.process = subprocess.Popen([PREDECESSOR, f'hci{number}', *map(str, arguments)], stdout=subprocess.PIPE, stderr=open(f'{OUT}/predecessor', 'a'), text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.told.put((time.monotonic(), json.loads(line)))

    def until(self, event, patience=120):
        while True:
            when, told = self.told.get(timeout=patience)
            if told['event'] == event:
                return when, told

    def end(self):
        self.process.kill()
        self.process.wait()


def theirs(lab, link, how, octets, messages):
    lab.begin()
    hears = End(1, 'hear')
    hears.until('ready')
    writes = End(0, how, address(1), messages, octets, 1)
    begun, _ = writes.until('begin')
    lab.ask(cmd='link', **link)
    rates, lost = [], 0
    while len(rates) < messages:
        try:
            when, told = hears.told.get(timeout=60)
        except queue.Empty:
            break
        if told['event'] in ('message', 'lost'):
            lost += told['event'] == 'lost'
            rates.append(round(octets / (when - begun)))
            begun = when
    lab.ask(cmd='link', **AT_ONCE)
    writes.end(), hears.end()
    print('theirs', how, link, rates, lost, flush=True)
    return dict(unit='octets/s', **spread(rates), all=rates, octets=octets, lost=lost)


def frames(lab, link, octets, count, times):
    """What the link takes at most: octets of frames a second, 200 frames at a time."""
    lab.begin()
    hears = End(1, 'hear')
    hears.until('ready')
    writes = End(0, 'raw', address(1), count, octets, 1)
    writes.until('begin')
    lab.ask(cmd='link', **link)
    stamps = [hears.until('frames')[0] for _ in range(count // 50)]
    lab.ask(cmd='link', **AT_ONCE)
    writes.end(), hears.end()
    # The first were let through before the link was as it is to be.
    rates = [round(octets * 200 / (stamps[at] - stamps[at - 4])) for at in range(8, len(stamps), 4)][:times]
    print('frames', octets, link, rates, flush=True)
    return dict(unit='octets/s', **spread(rates), all=rates, octets=octets)


def rate(times, small=False):
    lab = Lab(2)
    for name, link, more in (('radio', RADIO, 1), ('at once', AT_ONCE, 4)):
        def step(what, make):
            # What comes to nothing is told, and the others are measured all the same.
            try:
                figure(f'{what}, {name}', **make())
            except (SystemExit, queue.Empty) as error:
                figure(f'{what}, {name}', unit='octets/s', median=None, why=repr(error))
                for program in Program.running[:]:
                    program.end()
                lab.ask(cmd='link', **AT_ONCE)
                lab.ask(cmd='mtu', most=0)
        if small:
            step('ours, frames of 20', lambda: ours(lab, link, 23, 1_000, 15 * more, times))
            continue
        step('link, frames of 20', lambda: frames(lab, link, 20, 200 * (times + 2), times))
        step('link, frames of 244', lambda: frames(lab, link, 244, 200 * (times + 2), times))
        step('ours, frames of 244', lambda: ours(lab, link, 517, 1_000, 150 * more, times))
        step('ours, a channel', lambda: ours(lab, link, 517, 1_000, 150 * more, times, channels=True))
        step('predecessor, commands', lambda: theirs(lab, link, 'command', 1_000, 2 * times * more))
        step('predecessor, requests', lambda: theirs(lab, link, 'request', 300 * more, times))


def lossy(count):
    lab = Lab(2)
    told = theirs(lab, AT_ONCE, 'command', 40, count)
    figure('predecessor loses', unit='%', median=round(100 * told['lost'] / count, 1), lost=told['lost'], tries=len(told['all']), asked=count)
    # Ours speaks v1 to the same receiver, each eighth of the messages by an id of its own.
    heard = lost = 0
    for _ in range(8):
        lab.begin()
        hears = End(1, 'hear')
        hears.until('ready')
        one = Program(0, 'v1', 1)
        one.until(lambda it: it['event'] == 'near')
        for number in range(count // 8):
            one.say(text_of(number, 200))
            while (told := hears.told.get(timeout=60)[1])['event'] not in ('message', 'lost'):
                pass
            heard += told['event'] == 'message'
            lost += told['event'] == 'lost'
        one.end(), hears.end()
    figure('ours to the predecessor, loses', unit='%', median=round(100 * lost / max(1, heard + lost), 1), lost=lost, tries=heard + lost, asked=count)


def memory(program):
    read = lambda file, field: int(re.search(rf'^{field}:\s+(\d+) kB', open(f'/proc/{program.process.pid}/{file}').read(), re.M)[1])
    return dict(hwm=read('status', 'VmHWM'), rss=read('status', 'VmRSS'), pss=read('smaps_rollup', 'Pss'), anonymous=read('smaps_rollup', 'Anonymous'))


def eight(count):
    """One program with eight others, which do not hear each other."""
    lab = Lab(9)
    for one, other in itertools.combinations(range(1, 9), 2):
        lab.ask(cmd='mute', a=address(one), b=address(other), on=True)
    begun = time.monotonic()
    events = queue.Queue()
    hub = Program(0, 'v2', 8)
    others = [Program(number, 'v2', 1, events) for number in range(1, 9)]
    figure('memory, nobody', unit='kB', **memory(hub))
    until_linked(hub, 8, 300)
    figure('eight connections', unit='s', median=round(time.monotonic() - begun, 1), tries=1)
    figure('memory, eight', unit='kB', **memory(hub))

    def to_all(number, octets):
        begun = time.monotonic()
        text = text_of(number, octets)
        if hub.say(text) != 8:
            raise SystemExit('not all eight are near')
        heard = set()
        while len(heard) < 8:
            when, program, event = events.get(timeout=120)
            if event['event'] == 'message':
                assert event['text'] == text and program not in heard
                heard.add(program)
        return round(when - begun, 3)

    for name, link in (('at once', AT_ONCE), ('radio', RADIO)):
        lab.ask(cmd='link', **link)
        for octets, turns in ((200, count), (65_536, max(3, count // 3))):
            figure(f'to all eight, {octets} octets, {name}', unit='s', **spread([to_all(number, octets) for number in range(turns)]))
            figure(f'memory, eight, after messages of {octets}, {name}', unit='kB', **memory(hub))
    # All eight say the longest at once, and the one passes each on to seven.
    lab.ask(cmd='link', **AT_ONCE)
    begun = time.monotonic()
    for number, program in enumerate(others):
        program.say(text_of(number, 65_536))
    heard = 0
    while heard < 56:
        when, _, event = events.get(timeout=300)
        heard += event['event'] == 'message'
    figure('eight say 65536 octets to all at once', unit='s', median=round(when - begun, 1), tries=1)
    figure('memory, eight, after all said the longest', unit='kB', **memory(hub))


def lost(count, limit=1_200):
    """Messages each way until all are heard, or time is over."""
    lab = Lab(2)
    events = queue.Queue()
    ends = [Program(number, 'v2', 1, events) for number in (0, 1)]
    until_linked(ends[0]), until_linked(ends[1])
    dice = random.Random(3)
    sizes = {end: [round(2 ** dice.uniform(0, 16)) for _ in range(count)] for end in ends}
    said, open_, heard, wrong, failed, total = ({end: value() for end in ends} for value in (int, dict, int, int, int, int))
    begun = time.monotonic()
    late = lambda: time.monotonic() > begun + limit
    while True:
        for end in ends:
            # What waits is bounded, and who listens is to keep up.
            while said[end] < count and not late() and sum(open_[end].values()) < 200_000:
                text = text_of(said[end], sizes[end][said[end]])
                end.say(text)
                open_[end][said[end] + 1] = octets_of(len(text))
                said[end] += 1
        if not any(open_.values()) and all(heard[end] >= said[other] for end, other in zip(ends, ends[::-1])) and (late() or min(said.values()) >= count):
            break
        try:
            _, end, event = events.get(timeout=60)
        except queue.Empty:
            break
        other = ends[1 - ends.index(end)]
        if event['event'] == 'outcome':
            open_[end].pop(event['number'], None)
            failed[end] += not event['done']
        elif event['event'] == 'message':
            # In order, once, and octet by octet.
            expected = heard[end] + wrong[end]
            if event['text'] == text_of(expected, sizes[other][expected] if expected < count else 0):
                heard[end] += 1
                total[end] += octets_of(len(event['text']))
            else:
                wrong[end] += 1
                print('wrong:', expected, event['text'][:20], len(event['text']), flush=True)
            if sum(heard.values()) % 500 == 0:
                print(round(time.monotonic() - begun), *heard.values(), *wrong.values(), *failed.values(), flush=True)
    seconds = time.monotonic() - begun
    figure('messages each way', said=list(said.values()), heard=list(heard.values()), wrong=list(wrong.values()), failed=list(failed.values()),
           unacknowledged=[len(it) for it in open_.values()], octets=list(total.values()), seconds=round(seconds), median=min(heard.values()), unit='messages', asked=count)


def table(path):
    print(f'{"figure":<52} {"median":>9} {"least":>9} {"most":>9} tries')
    for line in open(path):
        it = json.loads(line)
        if it['figure'].startswith('memory'):
            print(f'{it["figure"]:<52} highest {it["hwm"]} kB, share {it["pss"]} kB, own {it["anonymous"]} kB')
            continue
        print(f'{it["figure"]:<52} {it["median"] or it.get("why", ""):>9} {it.get("least", ""):>9} {it.get("most", ""):>9} {it.get("tries", "")} {it["unit"]}')
        if 'said' in it:
            print(f'  said {it["said"]}, heard {it["heard"]}, wrong {it["wrong"]}, not acknowledged {it["unacknowledged"]}, octets {it["octets"]}, {it["seconds"]} s')


if sys.argv[1] == '--table':
    table(sys.argv[2])
else:
    what, _, count = sys.argv[1].partition('=')
    run, usual = dict(first=(first, 15), rate=(rate, 5), small=(lambda times: rate(times, True), 5), lossy=(lossy, 1_000), eight=(eight, 9), lost=(lost, 10_000))[what]
    try:
        run(int(count or usual))
    finally:
        # Nothing is left to hold up the machine's end.
        os.sync()
