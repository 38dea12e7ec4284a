//! Counters of the server, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use api::metrics::Exposition;
use hyper::StatusCode;

use super::connection_pool::Health;

api::metrics! {
    REQUESTS "weir_atlas_requests_total" Counter &["status"], "Requests, by the class of their status.";
    HITS "weir_atlas_cache_hits_total" Counter &[], "Requests that were answered from memory.";
    CONNECTIONS "weir_atlas_connections" Gauge &[], "Connections now.";
    CACHE "weir_atlas_cache_bytes" Gauge &[], "Answers and figures in memory.";
    SENDING "weir_atlas_sending_bytes" Gauge &[], "Large answers on their way to clients that have not taken them yet.";
    COMPUTED "weir_atlas_computed_total" Counter &[], "Answers that were computed.";
    SECONDS "weir_atlas_computed_seconds_total" Counter &[], "Time that computing answers took.";
    VERSION "weir_atlas_store_version" Gauge &[], "A number that each import changes.";
    MISSING "weir_atlas_store_missing" Gauge &[], "1: the file is gone or none of ours, and what was open is shown.";
    DAMAGED "weir_atlas_store_damaged" Gauge &[], "1: the store cannot be read, and /healthz is 503.";
    LATEST "weir_atlas_latest_snapshot_timestamp_seconds" Gauge &[], "Time of the latest snapshot.";
    QUERIES "weir_atlas_queries_total" Counter &["result"], "Free queries, by how they ended.";
    RUNNING "weir_atlas_queries_running" Gauge &[], "Free queries that are being answered.";
    UPTIME "weir_atlas_uptime_seconds" Gauge &[], "Since the server was started.";
}

/// Counters.
#[derive(Debug)]
pub(crate) struct Counts {
    begin: Instant,
    /// Answers by class of status: 2xx to 5xx.
    statuses: [AtomicU64; 4],
    hits: AtomicU64,
    computed: AtomicU64,
    microseconds: AtomicU64,
}

/// Values that other parts count.
pub(crate) struct State {
    pub connections: usize,
    pub cached: usize,
    pub sending: usize,
    pub version: i64,
    pub health: Health,
    /// Hour of the latest snapshot.
    pub latest: Option<i64>,
    pub queries: crate::sql::Counts,
}

impl Counts {
    pub fn new() -> Self {
        Self {
            begin: Instant::now(),
            statuses: Default::default(),
            hits: AtomicU64::new(0),
            computed: AtomicU64::new(0),
            microseconds: AtomicU64::new(0),
        }
    }

    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        if let Some(count) = self.statuses.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn computed(&self, took: Duration) {
        self.computed.fetch_add(1, Ordering::Relaxed);
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(took, Ordering::Relaxed);
    }

    /// Returns the counters as OpenMetrics text.
    pub fn tell(&self, state: &State) -> Exposition {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut text = Exposition::default();
        text.family(REQUESTS);
        for (class, count) in ["2xx", "3xx", "4xx", "5xx"].iter().zip(&self.statuses) {
            text.sample(REQUESTS, &[class], of(count));
        }
        text.family(QUERIES);
        let queries = &state.queries;
        for (result, count) in [
            ("answered", queries.answered),
            ("refused", queries.refused),
            ("bounded", queries.bounded),
            ("busy", queries.busy),
            ("share", queries.share),
            ("failed", queries.failed),
            ("left", queries.left),
        ] {
            text.sample(QUERIES, &[result], count);
        }
        let mut one = |metric, value: f64| {
            text.family(metric);
            text.sample(metric, &[], value);
        };
        one(HITS, of(&self.hits) as f64);
        one(CONNECTIONS, state.connections as f64);
        one(CACHE, state.cached as f64);
        one(SENDING, state.sending as f64);
        one(COMPUTED, of(&self.computed) as f64);
        one(SECONDS, of(&self.microseconds) as f64 / 1e6);
        one(RUNNING, queries.running as f64);
        one(VERSION, state.version as f64);
        let is = |so: bool| f64::from(u8::from(so));
        one(MISSING, is(matches!(state.health, Health::Before(_))));
        one(DAMAGED, is(matches!(state.health, Health::Bad(_))));
        if let Some(hour) = state.latest {
            one(LATEST, hour as f64 * 3600.0);
        }
        one(UPTIME, self.begin.elapsed().as_secs() as f64);
        text
    }
}
