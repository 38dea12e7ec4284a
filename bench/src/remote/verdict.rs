//! Verdict of a trial: about the router, or only about the machines at its ends.

use serde::{Deserialize, Serialize};

/// Share of the requested packets that the sender has to send.
pub const ENOUGH: f64 = 0.95;

/// Observations of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialObservation {
    /// Packets requested.
    pub asked: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived, without duplicates.
    pub received: u64,
    /// Packets that the receiver's sockets or device dropped.
    pub receiver_dropped: u64,
    /// Set if a link went down and came back, or is gone.
    pub flapped: bool,
    /// Share of the sent packets that may be lost.
    pub allowed: f64,
}

/// Verdict of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// The loss is within the allowed share.
    Passed,
    /// More was lost on the way.
    Lost,
    /// The sender did not reach the rate: no verdict on the router.
    SenderLimit,
    /// The receiver lost the packets: no verdict on the router.
    ReceiverLimit,
    /// A link was down for some time: no verdict at all.
    LinkFlapped,
}

impl TrialObservation {
    /// Returns the packets lost on the way, without those that the receiver dropped.
    pub fn lost(&self) -> u64 {
        self.missing().saturating_sub(self.receiver_dropped)
    }

    /// Returns the packets that did not arrive.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Returns the packets that may be lost.
    fn may_lose(&self) -> u64 {
        (self.sent as f64 * self.allowed) as u64
    }

    /// Returns whether the way lost more than allowed, at whatever rate the sender reached.
    pub fn lost_too_many(&self) -> bool {
        self.lost() > self.may_lose()
    }

    /// Returns the verdict; a limit of the sender comes before a verdict on the router.
    pub fn judge(&self) -> TrialVerdict {
        if self.flapped {
            TrialVerdict::LinkFlapped
        } else if self.sent == 0 || (self.sent as f64) < self.asked * ENOUGH {
            TrialVerdict::SenderLimit
        } else if self.lost_too_many() {
            TrialVerdict::Lost
        } else if self.missing() > self.may_lose() {
            TrialVerdict::ReceiverLimit
        } else {
            TrialVerdict::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: TrialObservation = TrialObservation {
        asked: 1000.0,
        sent: 1000,
        received: 1000,
        receiver_dropped: 0,
        flapped: false,
        allowed: 0.0,
    };

    #[test]
    fn each_is_told_from_the_others() {
        let cases = [
            (WELL, TrialVerdict::Passed),
            (
                TrialObservation {
                    received: 999,
                    ..WELL
                },
                TrialVerdict::Lost,
            ),
            (
                TrialObservation {
                    received: 999,
                    allowed: 0.001,
                    ..WELL
                },
                TrialVerdict::Passed,
            ),
            (
                TrialObservation {
                    sent: 949,
                    received: 949,
                    ..WELL
                },
                TrialVerdict::SenderLimit,
            ),
            (
                TrialObservation {
                    sent: 951,
                    received: 951,
                    ..WELL
                },
                TrialVerdict::Passed,
            ),
            (
                TrialObservation {
                    received: 900,
                    receiver_dropped: 100,
                    ..WELL
                },
                TrialVerdict::ReceiverLimit,
            ),
            (
                TrialObservation {
                    received: 800,
                    receiver_dropped: 100,
                    ..WELL
                },
                TrialVerdict::Lost,
            ),
            (
                TrialObservation {
                    sent: 949,
                    received: 100,
                    ..WELL
                },
                TrialVerdict::SenderLimit,
            ),
            (
                TrialObservation {
                    flapped: true,
                    ..WELL
                },
                TrialVerdict::LinkFlapped,
            ),
            (
                TrialObservation {
                    asked: 0.0,
                    sent: 0,
                    received: 0,
                    ..WELL
                },
                TrialVerdict::SenderLimit,
            ),
        ];
        for (seen, judgement) in cases {
            assert_eq!(seen.judge(), judgement, "{seen:?}");
        }
    }

    #[test]
    fn more_than_was_sent_is_no_loss() {
        let seen = TrialObservation {
            received: 1001,
            ..WELL
        };
        assert_eq!((seen.lost(), seen.judge()), (0, TrialVerdict::Passed));
        let seen = TrialObservation {
            receiver_dropped: 5,
            ..WELL
        };
        assert_eq!(seen.judge(), TrialVerdict::Passed, "packets of others");
    }
}
