//! Sends the core's requests to conntrack.

use kernel::ConnectionId;
use kernel::conntrack::{ConnectionState, Refresh};
use kernel::io::Requests;
use offload_core::Action;
use tracing::debug;

/// The socket for requests to conntrack.
pub(super) struct Conntrack {
    requests: Requests,
}

/// Answers of conntrack to a batch of requests.
pub(super) struct Replies {
    /// Replies to [`Action::Query`].
    pub queried: Vec<ConnectionState>,
    /// Replies to [`Action::Poll`].
    pub polled: Vec<ConnectionState>,
    /// Connections without an entry.
    pub gone: Vec<ConnectionId>,
}

impl Conntrack {
    pub fn new(requests: Requests) -> Self {
        Self { requests }
    }

    /// Sends those of these actions that concern conntrack, one request for each kind: relaxing
    /// comes before any install of the same batch.
    pub fn update(&mut self, actions: &[Action]) -> Replies {
        let named = |wanted: fn(&Action) -> Option<ConnectionId>| -> Vec<ConnectionId> {
            actions.iter().filter_map(wanted).collect()
        };
        let relax = named(|a| match a {
            Action::Relax(id) => Some(*id),
            _ => None,
        });
        let look = named(|a| match a {
            Action::Query(id) => Some(*id),
            _ => None,
        });
        let probe = named(|a| match a {
            Action::Probe(id) => Some(*id),
            _ => None,
        });
        let poll = named(|a| match a {
            Action::Poll(id) => Some(*id),
            _ => None,
        });
        let refresh: Vec<Refresh> = actions
            .iter()
            .filter_map(|a| match a {
                Action::Refresh {
                    id,
                    seconds,
                    unacknowledged,
                } => Some(Refresh {
                    id: *id,
                    timeout: *seconds,
                    status: None,
                    unacknowledged: *unacknowledged,
                }),
                _ => None,
            })
            .collect();
        let (looked, looks) = self.requests.query(&look);
        let (polled, polls) = self.requests.query(&poll);
        let mut gone = Vec::new();
        for outcome in [
            (!probe.is_empty()).then(|| self.requests.probe(&probe)),
            Some(polls),
            (!relax.is_empty()).then(|| self.requests.relax(&relax)),
            (!refresh.is_empty()).then(|| self.requests.refresh(&refresh)),
            Some(looks),
        ]
        .into_iter()
        .flatten()
        {
            if outcome.failed > 0 {
                debug!(failed = outcome.failed, error = ?outcome.error, "conntrack refused updates");
            }
            gone.extend(outcome.gone);
        }
        Replies {
            queried: looked,
            polled,
            gone,
        }
    }
}
