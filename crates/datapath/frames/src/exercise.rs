//! Passes mangled frames through a router, and checks that every one of them is forwarded as the
//! model requires or passed unchanged, and that the witness changes nothing. Shared by the property
//! tests and the fuzzer.

use super::connection::{SIDES, links};
use super::mangle::{Mangled, Place, mangled};
use super::model::Hook;
use super::router::{HOOKS, Outcome, Router};

/// A router whose flows are proven again and again.
pub struct Exercise {
    router: Router,
    rounds: u64,
    /// Frames forwarded so far: an exercise without a forwarded frame has shown nothing.
    pub forwarded: u64,
}

impl Default for Exercise {
    /// Uses the four connections of [`Router::standard`].
    fn default() -> Self {
        Self {
            router: Router::standard(),
            rounds: 0,
            forwarded: 0,
        }
    }
}

impl Exercise {
    /// Runs one frame, and then an ordinary one of each flow that is still proven.
    pub fn run(&mut self, choices: &[u8]) {
        self.recover();
        // TCP is timed in every other round, without any effect.
        self.rounds += 1;
        for connection in self.router.connections.clone() {
            self.router.time(&connection, self.rounds.is_multiple_of(2));
        }
        let Mangled {
            place,
            link,
            octets,
        } = mangled(choices, &self.router.connections);
        // Newer kernels do not run a program on an skb without a whole IP header
        // (net/bpf/test_run.c).
        if place != Place::In(Hook::Xdp) && octets.len() < 14 + 40 {
            return;
        }
        match place {
            Place::In(hook) => self.compare(hook, link, &octets),
            Place::Out => {
                // With a trial open, so that there is something to prove.
                for connection in self.router.connections.clone() {
                    for side in SIDES {
                        let longer = connection.frame(side).payload(1400).bytes();
                        self.router.run(Hook::Tc, links(side).0, &longer);
                    }
                }
                self.router.leave(link, &octets);
            }
        }
        for connection in self.router.connections.clone() {
            for (side, hook) in SIDES.into_iter().zip(HOOKS) {
                self.compare(hook, links(side).0, &connection.frame(side).bytes());
            }
        }
    }

    fn compare(&mut self, hook: Hook, link: u32, octets: &[u8]) {
        if let Outcome::Forwarded(_) = self.router.compare(hook, link, octets) {
            self.forwarded += 1;
        }
    }

    /// Proves flows that are not proven, or are proven for unusual packets.
    fn recover(&mut self) {
        for connection in self.router.connections.clone() {
            let directions = self.router.path.inspect(connection.id).expect("known");
            let ordinary = SIDES.into_iter().zip(&directions).all(|(side, d)| {
                let port = self.router.path.slot(links(side).0);
                d.proven && d.tos == 0 && d.length <= 200 && d.ingress.port == port
            });
            if !ordinary {
                self.router
                    .path
                    .install(connection.id, &connection.original, &connection.reply)
                    .expect("room");
                self.router.rested();
                self.router.prove(&connection);
            }
        }
    }
}
