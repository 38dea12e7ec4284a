//! A detection in a thread of its own, for the page to watch.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use answers::SetupDetection;

use super::{ProbeOptions, answer, choose, evidence, run};
use crate::config::Setup;
use runtime::Error;

/// Duration of the detection.
const SECONDS: u64 = 5;

/// Shared state of a detection.
#[derive(Clone, Default)]
pub struct Detection(Arc<Mutex<SetupDetection>>);

impl Detection {
    fn update<T>(&self, look: impl FnOnce(&mut SetupDetection) -> T) -> T {
        // The state is always complete.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the present state.
    pub fn so_far(&self) -> SetupDetection {
        self.update(|seen| seen.clone())
    }

    /// Begins, unless a detection is running already.
    ///
    /// # Errors
    /// The port is unknown.
    pub fn begin(&self, port: Option<String>, setup: &Setup) -> Result<SetupDetection, Error> {
        let (port, lans) = choose(port, None, setup)?;
        let began = self.update(|seen| {
            if seen.running {
                return false;
            }
            *seen = SetupDetection {
                running: true,
                port: port.clone(),
                ..SetupDetection::default()
            };
            true
        });
        if began {
            let looking = self.clone();
            thread::spawn(move || {
                let look = ProbeOptions {
                    port: &port,
                    lans: &lans,
                    seconds: SECONDS,
                    untagged: false,
                };
                let found = run(look, &mut |heard| {
                    looking.update(|seen| seen.evidence.push(evidence(heard)));
                });
                looking.update(|seen| {
                    seen.running = false;
                    match found {
                        Ok(found) => seen.suggestion = Some(answer(&found).suggestion),
                        Err(error) => seen.failed = Some(error.to_string()),
                    }
                });
            });
        }
        Ok(self.so_far())
    }
}
