//! Changes many neighbours, stations of a bridge, or rules at once, under very many flows.

use std::path::Path;

use lab::arrangement::Arrangement;
use lab::topology::mac;

use crate::Error;
use crate::many_flows::{ManyFlows, Outcome, PathMark, Size};

/// Byte of a frame that distinguishes the generations of [`hardware`].
const GENERATION_AT: u32 = 1;
/// Offset of the lowest byte of the IPv4 destination.
const DESTINATION_AT: u32 = 14 + 19;
/// Rules besides the relevant one, as in a firewall of some size.
const OTHER_RULES: u32 = 300;

/// Outcomes of a kind of change.
pub struct Changes {
    /// Description of the change.
    pub name: String,
    /// Number of flows.
    pub flows: u32,
    /// Set if packets of the old kind may still pass after the change.
    pub goes_on: bool,
    /// Outcome of each repetition.
    pub outcomes: Vec<Outcome>,
}

impl Changes {
    /// Formats a line of the table: medians, and the largest.
    pub fn line(&self) -> Vec<String> {
        let of = |value: fn(&Outcome) -> f64| {
            let mut all: Vec<f64> = self.outcomes.iter().map(value).collect();
            all.sort_by(f64::total_cmp);
            match (all.get(all.len() / 2), all.last()) {
                (Some(median), Some(most)) => format!("{median:.1} ({most:.1})"),
                _ => "–".into(),
            }
        };
        // If the old path is valid again, its packets do not end.
        let last = |value| match self.goes_on {
            true => "–".into(),
            false => of(value),
        };
        vec![
            self.name.clone(),
            self.flows.to_string(),
            self.outcomes.len().to_string(),
            of(|outcome| outcome.command),
            last(|outcome| outcome.last_since_begin),
            last(|outcome| outcome.last_since_end),
            of(|outcome| outcome.back),
            of(|outcome| outcome.by_kernel),
        ]
    }

    /// Headings of the lines.
    pub const HEADINGS: [&'static str; 8] = [
        "median (largest), ms",
        "flows",
        "times",
        "the command takes",
        "last packet the old way, after its begin",
        "after its end",
        "99 % forwarded again, after its begin",
        "packets by the kernel, for each flow and direction",
    ];
}

/// Returns the address of the n-th host.
fn address(n: u32) -> String {
    let low = 0x0102 + n;
    format!("192.168.{}.{}", low >> 8, low & 0xff)
}

/// Returns the hardware address of the n-th host in this generation.
fn hardware(n: u32, generation: u32) -> String {
    let [_, high, middle, low] = n.to_be_bytes();
    format!("02:{generation:02x}:5c:{high:02x}:{middle:02x}:{low:02x}")
}

/// Returns lines for `ip -batch` that set all neighbours to this generation.
fn neighbours(device: &str, hosts: u32, generation: u32) -> String {
    (0..hosts)
        .map(|n| {
            format!(
                "neigh replace {} lladdr {} nud permanent dev {device}\n",
                address(n),
                hardware(n, generation)
            )
        })
        .collect()
}

/// Gives all neighbours another hardware address at once, `times` times.
pub fn of_neighbours(binary: &Path, size: Size, times: u32) -> Result<Changes, Error> {
    let way = PathMark::Octet(GENERATION_AT);
    let mut crowd = ManyFlows::build(binary, Arrangement::PLAIN, size, way, |lab| {
        let lines = neighbours("lan0", size.hosts, 0);
        Ok(lab.node("router")?.ip(&lines).map(drop)?)
    })?;
    let mut outcomes = Vec::new();
    for time in 0..times {
        let generation = (time + 1) & 1;
        let lines = neighbours("lan0", size.hosts, generation);
        outcomes.push(crowd.change("ip -batch -", lines, 1 - generation as usize)?);
        goes(&mut crowd, generation as usize)?;
    }
    Ok(Changes {
        name: format!("{} neighbours get another address", size.hosts),
        flows: size.flows(),
        goes_on: false,
        outcomes,
    })
}

/// Checks that all arriving packets are of this kind.
fn goes(crowd: &mut ManyFlows, kind: usize) -> Result<(), Error> {
    let arrived = crowd.arrives()?;
    match arrived[1 - kind] == 0 && arrived[kind] > 0 {
        true => Ok(()),
        false => Err(Error::Wrong(format!(
            "after everything settled, packets of kind 0 and 1 that arrived in one round: \
                {arrived:?}; only {kind} is right: {:?}",
            crowd.weir().status()
        ))),
    }
}

/// Moves all stations to another member of the bridge at once, `times` times.
pub fn of_stations(binary: &Path, size: Size, times: u32) -> Result<Changes, Error> {
    let stations = |member: &str| -> String {
        (0..size.hosts)
            .map(|n| {
                let station = hardware(n, 0);
                format!("fdb replace {station} dev {member} master static\n")
            })
            .collect()
    };
    let mut crowd = ManyFlows::build(binary, Arrangement::BRIDGE, size, PathMark::Member, |lab| {
        let router = lab.node("router")?;
        router.ip(&neighbours("br0", size.hosts, 0))?;
        router.feed("bridge -batch -", &stations("lan1"))?;
        Ok(())
    })?;
    let mut outcomes = Vec::new();
    for time in 0..times {
        let (old, new) = if time & 1 == 0 { (0, 1) } else { (1, 0) };
        let lines = stations(["lan1", "lan2"][new]);
        outcomes.push(crowd.change("bridge -batch -", lines, old)?);
        goes(&mut crowd, new)?;
    }
    Ok(Changes {
        name: format!("{} stations move to another member", size.hosts),
        flows: size.flows(),
        goes_on: false,
        outcomes,
    })
}

/// Returns a whole ruleset, which drops the flows of every second host if `cut`.
fn ruleset(cut: bool) -> String {
    let others: String = (0..OTHER_RULES)
        .map(|n| format!("tcp dport {} drop\n", 10_000 + n))
        .collect();
    let cut = match cut {
        true => {
            "ip daddr & 0.0.0.1 == 0.0.0.1 udp sport 443 drop\nip saddr & 0.0.0.1 == 0.0.0.1 udp \
                dport 443 drop\n"
        }
        false => "",
    };
    format!(
        "flush ruleset\ntable inet fw4 {{ chain forward {{ type filter hook forward priority \
            filter; policy drop;\n{others}{cut}ct state vmap {{ established : accept, related : \
            accept }}\nudp dport 443 accept\n}}\n}}\n"
    )
}

/// Loads the firewall with a rule that drops half of the flows, and without, in turn.
pub fn of_rules(binary: &Path, size: Size, times: u32) -> Result<[Changes; 2], Error> {
    let client = lab::topology::text(mac("client", "eth0"));
    let way = PathMark::Octet(DESTINATION_AT);
    let mut crowd = ManyFlows::build(binary, Arrangement::PLAIN, size, way, |lab| {
        let router = lab.node("router")?;
        let lines: String = (0..size.hosts)
            .map(|n| {
                let address = address(n);
                format!("neigh replace {address} lladdr {client} nud permanent dev lan0\n")
            })
            .collect();
        router.ip(&lines)?;
        Ok(router.nft(&ruleset(false)).map(drop)?)
    })?;
    let (mut cut, mut open) = (Vec::new(), Vec::new());
    for _ in 0..times {
        cut.push(crowd.change("nft -f -", ruleset(true), 1)?);
        goes(&mut crowd, 0)?;
        open.push(crowd.change("nft -f -", ruleset(false), 1)?);
        let arrived = crowd.arrives()?;
        if arrived[0].abs_diff(arrived[1]) > arrived[0] / 100 {
            return Err(Error::Wrong(format!(
                "not all flows go on after the rule went: {arrived:?}"
            )));
        }
    }
    let changes = |name: &str, goes_on, outcomes| Changes {
        name: name.into(),
        flows: size.flows(),
        goes_on,
        outcomes,
    };
    Ok([
        changes(
            "firewall loaded with a rule that drops half of the flows",
            false,
            cut,
        ),
        changes("firewall loaded without that rule", true, open),
    ])
}
