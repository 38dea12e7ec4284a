//! Output of early drops.

use answers::{
    DropPrefix, DropRoutes, DropSet, DropState, Drops, Endpoints, Explanation, FlowQuery,
    LearnedDrop, LearnedDrops, WitnessName,
};
use datapath::{Datapath, DropCount, DropList};
use kernel::{Prefix, Protocol};
use offload_core::drops::routes::Fate;

use super::lists::{DropLists, add};
use super::state::{SetState, UnusedReason};
use runtime::daemon::{Router, names, witness};

/// Largest number of prefixes and tuples shown of each list.
const BUSIEST: usize = 32;

/// Returns the answer to `GET /v1/drops`.
pub fn shown(keeper: &DropLists, router: &mut Router) -> Drops {
    Drops {
        learned: learned(router),
        sets: sets(keeper, &router.path),
        routes: routes(keeper, &router.path),
    }
}

fn state(problem: Option<&str>) -> DropState {
    DropState {
        active: problem.is_none(),
        reason: problem.map(str::to_owned),
    }
}

fn learned(router: &mut Router) -> LearnedDrops {
    let problem = match router.path.drops.learns() {
        None => Some("not enabled: set `learn` under [drops]".to_owned()),
        Some(Err(error)) => Some(error.to_string()),
        Some(Ok(())) => None,
    };
    let totals = router.path.drops.learned_totals();
    let names = names(router);
    let mut tuples = router.path.drops.learned();
    tuples.sort_by_key(|drop| std::cmp::Reverse((drop.count.dropped, drop.tried)));
    tuples.truncate(BUSIEST);
    let tuples = tuples
        .into_iter()
        .map(|drop| LearnedDrop {
            protocol: protocol(drop.tuple.protocol),
            endpoints: Endpoints {
                source: drop.tuple.source,
                source_port: drop.tuple.source_port,
                destination: drop.tuple.destination,
                destination_port: drop.tuple.destination_port,
            },
            device: names
                .get(&drop.link)
                .cloned()
                .unwrap_or_else(|| format!("#{}", drop.link)),
            cached: drop.cached,
            dropped: drop.count.dropped,
            sampled: drop.count.sampled,
            tried: drop.tried,
            confirmed: drop.count.confirmed,
        })
        .collect();
    LearnedDrops {
        state: state(problem.as_deref()),
        dropped: totals.dropped,
        known: totals.entries,
        cached: totals.cached,
        capacity: totals.capacity,
        crowded: totals.crowded,
        tuples,
    }
}

fn protocol(protocol: Protocol) -> answers::Protocol {
    match protocol {
        Protocol::Tcp => answers::Protocol::Tcp,
        Protocol::Udp => answers::Protocol::Udp,
    }
}

fn busiest(mut counts: Vec<(Prefix, DropCount)>) -> Vec<DropPrefix> {
    counts.sort_by_key(|(prefix, count)| (std::cmp::Reverse(count.dropped), *prefix));
    counts
        .into_iter()
        .take(BUSIEST)
        .map(|(prefix, count)| DropPrefix {
            prefix: prefix.to_string(),
            dropped: count.dropped,
            sampled: count.sampled,
        })
        .collect()
}

fn count(path: &Datapath, list: DropList, prefix: &Prefix) -> DropCount {
    path.drops
        .count(list, prefix)
        .ok()
        .flatten()
        .unwrap_or_default()
}

fn sets(keeper: &DropLists, path: &Datapath) -> Vec<DropSet> {
    let tells = path.drops.learns().is_some_and(|learns| learns.is_ok());
    let of_set = |(number, set): (usize, &SetState)| {
        let mut sum = set.gone;
        let counts: Vec<(Prefix, DropCount)> = keeper
            .listed
            .iter()
            .filter(|(_, of)| **of == number)
            .map(|(prefix, _)| (*prefix, count(path, DropList::Sources, prefix)))
            .collect();
        counts.iter().for_each(|(_, count)| add(&mut sum, *count));
        DropSet {
            name: set.name.to_string(),
            state: state(set.doubt().map(UnusedReason::text)),
            prefixes: set.prefixes.len() as u64,
            left_out: set.skipped as u64,
            dropped: sum.dropped,
            sampled: sum.sampled,
            confirmed: tells.then_some(sum.confirmed),
            busiest: busiest(counts),
        }
    };
    keeper.sets.iter().enumerate().map(of_set).collect()
}

fn routes(keeper: &DropLists, path: &Datapath) -> DropRoutes {
    let asked = (!keeper.settings.routes).then_some("not enabled: set `routes` under [drops]");
    let state_of = &keeper.routes;
    let problem = asked.or(state_of.doubt().map(UnusedReason::text));
    let counts: Vec<(Prefix, DropCount)> = state_of
        .listed
        .iter()
        .filter(|(_, fate)| **fate != Fate::Hole)
        .map(|(prefix, _)| (*prefix, count(path, DropList::Routes, prefix)))
        .collect();
    let dropped = counts.iter().map(|(_, count)| count.dropped).sum::<u64>();
    DropRoutes {
        state: state(problem),
        prefixes: counts.len() as u64,
        dropped: dropped + state_of.gone.dropped,
        busiest: busiest(counts),
    }
}

/// Explains a tuple that is not a known flow, if weir drops it early.
pub fn explain(keeper: &DropLists, router: &mut Router, asked: &FlowQuery) -> Option<Explanation> {
    let FlowQuery::Tuple {
        protocol: wanted,
        endpoints,
    } = asked
    else {
        return None;
    };
    let text = learned_text(router, *wanted, endpoints)
        .or_else(|| listed_text(keeper, router, endpoints))?;
    let (verdict, why) = text;
    Some(Explanation {
        asked: asked.to_string(),
        verdict: format!("{asked} {verdict}"),
        witnesses: vec![
            witness(
                WitnessName::Known,
                false,
                "conntrack has no such connection that weir could forward",
            ),
            witness(WitnessName::Seen, true, why),
        ],
        change: vec![
            "any change of rules, sets or routes ends it at once; `weir drops` shows the counters"
                .to_owned(),
        ],
        flow: None,
    })
}

fn learned_text(
    router: &mut Router,
    wanted: Option<answers::Protocol>,
    endpoints: &Endpoints,
) -> Option<(String, String)> {
    let found = router.path.drops.learned().into_iter().find(|drop| {
        let tuple = &drop.tuple;
        wanted.is_none_or(|wanted| wanted == protocol(tuple.protocol))
            && (tuple.source, tuple.source_port) == (endpoints.source, endpoints.source_port)
            && (tuple.destination, tuple.destination_port)
                == (endpoints.destination, endpoints.destination_port)
    })?;
    let evidence = format!(
        "netfilter dropped {} of the {} packets let through to it since the last change; weir \
            dropped {}, and let through {} more as samples",
        found.count.confirmed, found.tried, found.count.dropped, found.count.sampled
    );
    let verdict = match found.cached {
        true => "is dropped early by weir, because netfilter drops it.",
        false => {
            "is dropped by netfilter, not early: netfilter has not dropped all of it for a \
            second yet."
        }
    };
    Some((verdict.to_owned(), evidence))
}

fn listed_text(
    keeper: &DropLists,
    router: &Router,
    endpoints: &Endpoints,
) -> Option<(String, String)> {
    let kinds = keeper.kinds();
    let source = keeper
        .listed
        .iter()
        .filter(|(prefix, _)| kinds.sources && prefix.contains(&endpoints.source))
        .max_by_key(|(prefix, _)| prefix.length);
    if let Some((prefix, number)) = source {
        let set = &keeper.sets.get(*number)?.name;
        let done = count(&router.path, DropList::Sources, prefix);
        return Some((
            "is dropped early by weir, because a set contains its source.".to_owned(),
            format!(
                "{prefix} is in set {set}; {} packets from it were dropped, {} let through as \
                    samples",
                done.dropped, done.sampled
            ),
        ));
    }
    let route = keeper
        .routes
        .listed
        .iter()
        .filter(|(prefix, _)| kinds.routes && prefix.contains(&endpoints.destination))
        .max_by_key(|(prefix, _)| prefix.length)
        .filter(|(_, fate)| **fate != Fate::Hole);
    let (prefix, _) = route?;
    let done = count(&router.path, DropList::Routes, prefix);
    Some((
        "is dropped early by weir, because a route drops it.".to_owned(),
        format!(
            "the route to {prefix} drops; {} packets to it were dropped, {} let through as samples",
            done.dropped, done.sampled
        ),
    ))
}

/// Returns the counters for `weir status`; `None` if no early drops are configured.
pub fn counts(keeper: &DropLists, router: &mut Router) -> Option<answers::DropCounts> {
    let listed = router.path.drops.listed_totals().unwrap_or_default();
    keeper.is_enabled().then(|| answers::DropCounts {
        learned: router.path.drops.learned_totals().dropped,
        sets: listed.sources,
        routes: listed.routes,
    })
}
