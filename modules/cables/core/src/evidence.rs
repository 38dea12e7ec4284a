//! Evidence collected since the link came.

use detect::{Internet, Mac, Suggestion};

use crate::cdp::Cdp;
use crate::frame_class::FrameClass;
use crate::lldp::Lldp;
use crate::makers::Maker;
use crate::mndp::Mndp;
use crate::octets::clean;
use crate::port::{Hello, Port, Proof};
use crate::port_summary::PortSummary;

/// Senders that are remembered.
const MOST: usize = 16;
/// Longest wait for a hello's proof, in milliseconds: both ends have sent three hellos by then.
const PROVES: u64 = 6000;
/// Time after which an unfinished probe counts as failed, in milliseconds.
pub(crate) const ANSWERS: u64 = 6000;
/// Maximum number of named servers from a probe.
const SERVERS: usize = 4;
/// Time after the last own frame for which a loop is assumed, if this router probes for loops.
pub const LOOP_LASTS: u64 = 30_000;

/// Number of own frames that make a loop: some radios return a single one.
const LOOP: u32 = 3;
/// Frames of pure clients. A Linux that routes IPv4 alone asks for routers of IPv6 everywhere.
const ASKS: [FrameClass; 2] = [FrameClass::Padi, FrameClass::DhcpClient];
/// Frames of servers.
pub(crate) const SERVES: [FrameClass; 4] = [
    FrameClass::Pado,
    FrameClass::DhcpServer,
    FrameClass::Dhcp6Server,
    FrameClass::RouterAdvertisement,
];

/// Frames of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Time of the first frame.
    pub first: u64,
    /// Time of the last one.
    pub last: u64,
    /// Number of frames.
    pub frames: u32,
    /// Sender of the last frame.
    pub from: Mac,
    /// Some had no tag.
    pub plain: bool,
    /// The VLAN of the last that had one.
    pub vlan: Option<u16>,
}

impl Observation {
    /// Returns the VLAN, if all frames were tagged.
    pub fn tagged(&self) -> Option<u16> {
        self.vlan.filter(|_| !self.plain)
    }
}

/// Result of the active probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    pub at: u64,
    pub internet: Internet,
    pub vlan: Option<u16>,
    /// A router was named.
    pub gateway: bool,
    /// True if there is Internet access by IPv6.
    pub ipv6: bool,
    /// True if there are routers of IPv6, but no default router.
    pub no_default_router: bool,
    /// Servers that answered, as text.
    pub servers: Vec<String>,
    /// Servers that had made any offer by then, to any client.
    pub served: Vec<Mac>,
}

/// Own frames that came back from one hardware address of this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Own {
    from: Mac,
    frames: u32,
    last: u64,
}

/// All evidence of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    seen: [Option<Observation>; FrameClass::ALL.len()],
    /// Number of stations that sent anything.
    pub stations: usize,
    /// There were more, which are not counted.
    pub more_stations: bool,
    /// Maker from a hardware address, and the address.
    pub maker: Option<(Maker, Mac)>,
    asked: Vec<Mac>,
    served: Vec<Mac>,
    pub lldp: Option<Lldp>,
    pub cdp: Option<Cdp>,
    pub mndp: Option<Mndp>,
    /// Time of the request for a probe.
    pub look_began: Option<u64>,
    pub look: Option<ProbeResult>,
    pub hello: Option<(Hello, u64)>,
    /// Port of this router whose own hello came back, and the time.
    pub led_to: Option<(String, u64)>,
    own: Vec<Own>,
}

fn remember(all: &mut Vec<Mac>, mac: Mac) {
    if all.len() < MOST && !all.contains(&mac) {
        all.push(mac);
    }
}

impl Evidence {
    /// Returns true if a probe is pending and may still be answered.
    pub fn awaits_look(&self, now: u64) -> bool {
        let began = self.look_began.filter(|_| self.look.is_none());
        began.is_some_and(|began| now.saturating_sub(began) < ANSWERS)
    }

    /// Takes the classifier's record since the link came, at time `up`.
    pub fn note(&mut self, noted: &PortSummary, up: u64, now: u64) {
        for sort in FrameClass::ALL {
            let heard = noted.of(sort);
            let former = self.seen[sort as usize];
            if heard.frames == 0 || former.is_some_and(|it| it.frames == heard.frames) {
                continue;
            }
            let last = heard.last.clamp(up, now.max(up));
            if sort == FrameClass::Own {
                let frames = heard.frames - former.map_or(0, |it| it.frames).min(heard.frames);
                self.note_own(Own {
                    from: heard.from,
                    frames,
                    last,
                });
            }
            self.seen[sort as usize] = Some(Observation {
                first: former.map_or(last, |it| it.first),
                last,
                frames: heard.frames,
                from: heard.from,
                plain: heard.vlan.is_none() || former.is_some_and(|it| it.plain),
                vlan: heard.vlan.or(former.and_then(|it| it.vlan)),
            });
            if ASKS.contains(&sort) {
                remember(&mut self.asked, heard.from);
            } else if SERVES.contains(&sort) {
                remember(&mut self.served, heard.from);
            }
        }
        self.stations = self.stations.max(noted.stations.len());
        self.more_stations |= noted.more_stations;
        let mut stations = noted.stations.iter();
        let maker = stations.find_map(|mac| Some((Maker::of(mac)?, *mac)));
        self.maker = self.maker.or(maker);
        self.lldp = Lldp::read(&noted.lldp).or(self.lldp.take());
        self.cdp = Cdp::read(&noted.cdp).or(self.cdp.take());
        self.mndp = Mndp::read(&noted.mndp).or(self.mndp.take());
    }

    /// Counts own frames for who sent the last of them.
    fn note_own(&mut self, own: Own) {
        let known = self.own.iter_mut().find(|it| it.from == own.from);
        if let Some(known) = known {
            (known.frames, known.last) = (known.frames + own.frames, own.last);
        } else if self.own.len() < MOST {
            self.own.push(own);
        }
    }

    /// Records the findings of the probe.
    pub fn look(&mut self, said: &Suggestion, now: u64) {
        let servers = said.details.servers.iter().map(|it| clean(it));
        self.look = Some(ProbeResult {
            at: now,
            internet: said.internet,
            vlan: said.vlan,
            gateway: said.details.gateway.is_some(),
            ipv6: said.internet == Internet::Ipv6Only || said.details.ipv6,
            no_default_router: said.details.no_default_router,
            servers: servers.take(SERVERS).collect(),
            served: self.served.clone(),
        });
    }

    /// Takes in a hello. The one of which most is proven stays.
    pub fn greet(&mut self, hello: &Hello, now: u64) {
        if hello.proof == Proof::Own {
            self.led_to = Some((clean(&hello.port), now));
            return;
        }
        let at = match &self.hello {
            Some((former, _)) if former.proof > hello.proof => return,
            Some((former, at)) if former.proof == hello.proof => *at,
            _ => now,
        };
        let hello = Hello {
            node: clean(&hello.node),
            mesh: clean(&hello.mesh),
            proof: hello.proof,
            port: clean(&hello.port),
        };
        self.hello = Some((hello, at));
    }

    pub fn of(&self, frame_class: FrameClass) -> Option<&Observation> {
        self.seen[frame_class as usize].as_ref()
    }

    pub fn any(&self, sorts: &[FrameClass]) -> Option<(FrameClass, &Observation)> {
        sorts.iter().find_map(|&sort| Some((sort, self.of(sort)?)))
    }

    /// Returns a proven hello.
    pub fn proven(&self) -> Option<&Hello> {
        let hello = self.hello.as_ref().map(|(hello, _)| hello);
        hello.filter(|hello| hello.proof == Proof::Proven)
    }

    /// Returns a hello of this mesh whose proof may still arrive.
    pub fn awaited(&self, now: u64) -> Option<&Hello> {
        let hello = self.hello.as_ref().map(|(hello, _)| hello);
        hello.filter(|_| self.proves().is_some_and(|until| now < until))
    }

    /// Returns the time until which the proof of a hello of this mesh may arrive.
    pub fn proves(&self) -> Option<u64> {
        let (hello, at) = self.hello.as_ref()?;
        (hello.proof == Proof::Awaited).then(|| at.saturating_add(PROVES))
    }

    /// Returns true if own frames came back: some, or one hello, which no other station can make.
    /// Frames of another uplink do not count ([`Port::is_other_uplink`]). If this router probes for
    /// loops, the frames must be recent; otherwise a loop lasts as long as the link.
    pub fn looped(&self, port: &Port, now: u64) -> bool {
        let own = self.own.iter();
        let own = own.filter(|own| !port.is_other_uplink(|(_, mac)| *mac == own.from));
        let (frames, last) = own.fold((0, None), |(frames, last), own| {
            (own.frames.saturating_add(frames), last.max(Some(own.last)))
        });
        let hello = self.led_to(port).map(|(_, at)| at);
        let lately = |last| !port.probes || now.saturating_sub(last) < LOOP_LASTS;
        let lately = last.max(hello).is_some_and(lately);
        lately && (hello.is_some() || frames >= LOOP)
    }

    /// Returns the port of this router from which an own hello came back, if that is a loop, and
    /// the time.
    pub fn led_to(&self, port: &Port) -> Option<(&str, u64)> {
        let (from, at) = self.led_to.as_ref()?;
        let other = port.is_other_uplink(|(name, _)| name == from);
        (!other).then_some((from, *at))
    }

    /// Returns a station that both asks and offers: a router like this one.
    pub fn twin(&self) -> Option<&Mac> {
        let both = self.served.iter().find(|mac| self.asked.contains(mac));
        let solicits = self.of(FrameClass::RouterSolicitation).map(|it| it.from);
        let advertises = self.of(FrameClass::RouterAdvertisement).map(|it| &it.from);
        both.or(advertises.filter(|from| Some(**from) == solicits))
    }

    /// Returns the servers of addresses or routes.
    pub fn servers(&self) -> &[Mac] {
        &self.served
    }

    /// Returns the time of the first evidence.
    pub fn first(&self) -> Option<u64> {
        let seen = self.seen.iter().flatten().map(|it| it.first);
        seen.chain(self.hello.as_ref().map(|(_, at)| *at)).min()
    }

    /// Returns true if an LLDP or CDP announcement has fitting capabilities.
    pub fn says(&self, fits: impl Fn(&crate::lldp::Capabilities) -> bool) -> bool {
        let lldp = self.lldp.as_ref().map(|it| it.capabilities);
        let cdp = self.cdp.as_ref().map(|it| it.capabilities);
        lldp.iter().chain(cdp.iter()).any(fits)
    }

    /// Returns the maker of a radio that an announcement names, and the radio's name there. The
    /// name that people gave the system does not count.
    pub fn radio(&self) -> Option<(Maker, &str)> {
        let texts = [
            self.lldp.as_ref().map(|it| it.description.as_str()),
            self.mndp.as_ref().map(|it| it.board.as_str()),
            self.cdp.as_ref().map(|it| it.platform.as_str()),
        ];
        let mut texts = texts.into_iter().flatten();
        texts.find_map(|text| Some((Maker::radio(text)?, text)))
    }
}
