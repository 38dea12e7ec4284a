//! Loads weir's own rules into the firewall, with `nft`.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

type Load = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Queue of rulesets for the firewall: one after the other, as an earlier one must not overtake a
/// later one. Only the latest waiting ruleset is loaded: each rebuilds the table.
#[derive(Default)]
pub struct Firewall {
    under_way: Option<Load>,
    waiting: Option<String>,
    loads: u64,
}

impl Firewall {
    /// Loads a ruleset, as a whole or not at all.
    pub fn load(&mut self, rules: String) {
        self.waiting = Some(rules);
        self.next();
    }

    /// Returns true if no load is pending.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// Returns a counter of loads, raised at the beginning and at the end of each: odd during a
    /// load. Rules that were read during a load may be the old or the new ones.
    pub fn loads(&self) -> u64 {
        self.loads
    }

    /// Polls the pending load for its result; pending if there is no load.
    pub fn poll_told(&mut self, context: &mut Context<'_>) -> Poll<Result<(), String>> {
        let Some(load) = &mut self.under_way else {
            return Poll::Pending;
        };
        let result = std::task::ready!(load.as_mut().poll(context));
        self.under_way = None;
        self.loads += 1;
        self.next();
        Poll::Ready(result)
    }

    /// Waits for the running load, then loads these rules, the last ones.
    pub async fn finish(self, rules: String) -> Result<(), String> {
        if let Some(load) = self.under_way {
            // The last load decides.
            let _ = load.await;
        }
        load(rules).await
    }

    fn next(&mut self) {
        if self.under_way.is_none()
            && let Some(rules) = self.waiting.take()
        {
            self.loads += 1;
            let mut load: Load = Box::pin(load(rules));
            // The load begins at once; the loop polls it again when it has time.
            let begun = load.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(result) = begun {
                load = Box::pin(std::future::ready(result));
            }
            self.under_way = Some(load);
        }
    }
}

async fn load(rules: String) -> Result<(), String> {
    kernel::io::load_rules(&rules).await
}
