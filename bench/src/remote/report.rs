//! Report of a measurement between two machines, and its conclusions.

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use super::search::End;
use super::verdict::TrialVerdict;
use crate::machine::Machine;

/// Report of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`](super::SCHEMA).
    pub schema: String,
    /// Machine that sent.
    pub sender: Machine,
    /// Machine that counted.
    pub receiver: Machine,
    /// Host, as the user named it.
    pub host: String,
    /// Address that packets went to.
    pub address: String,
    /// Device of the sender.
    pub device: String,
    /// Link speed of the device in Mbit/s, if known.
    pub link_mbit: Option<f64>,
    /// Packets a second that this link carries.
    pub link_pps: Option<f64>,
    /// Frame length in bytes, without checksum.
    pub length: u16,
    /// Number of flows.
    pub flows: u32,
    /// Threads of the sender.
    pub threads: usize,
    /// Seconds of each trial.
    pub seconds: f64,
    /// Share of the packets that may be lost.
    pub loss: f64,
    /// Requested rate; unset after a search.
    pub asked_pps: Option<f64>,
    /// Trials, in the order made.
    pub trials: Vec<Trial>,
    /// Reason for the end of the search; unset without a search, or if the user ended it.
    pub end: Option<End>,
    /// Highest rate with an allowed loss; a lower bound if the sender, the receiver or the link is
    /// the limit.
    pub pps: Option<f64>,
    /// Set if a longer trial at that rate agrees; `None` without such a trial.
    pub confirmed: Option<bool>,
    /// Set if the whole measurement was made.
    pub complete: bool,
    /// Problem that ended the measurement, if any.
    pub trouble: Option<String>,
}

/// Result of a single trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Requested packets a second.
    pub asked_pps: f64,
    /// Sent packets a second.
    pub sent_pps: f64,
    /// Received packets a second; unset if a link was down for some time.
    pub received_pps: Option<f64>,
    /// Seconds of sending.
    pub seconds: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received, without duplicates.
    pub received: u64,
    /// Bytes of the received frames, without checksum.
    pub bytes: u64,
    /// Packets lost on the way.
    pub lost: u64,
    /// Packets that the receiver had no room for.
    pub receiver_dropped: u64,
    /// Packets that arrived behind one sent later (RFC 4737).
    pub reordered: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Flows whose first packet was answered.
    pub answered_flows: u32,
    /// Packets that arrived in each second since the first one.
    pub each_second: Vec<u64>,
    /// Round-trip times; unset without answers.
    pub latency: Option<Latency>,
    /// Verdict.
    pub judgement: TrialVerdict,
    /// Set for the longer trial at the end, and for a trial at a requested rate.
    pub confirming: bool,
}

impl Trial {
    /// Returns the share of the packets lost on the way.
    pub fn loss(&self) -> f64 {
        self.lost as f64 / (self.sent.max(1)) as f64
    }
}

impl Report {
    /// Returns the conclusions, a sentence each.
    pub fn says(&self) -> Vec<String> {
        let rate = |pps: f64| {
            let share = self.link_pps.map(|most| pps / most * 100.0);
            let share = share.map(|share| format!(", {share:.1} % of what the link carries"));
            format!("{} packets/s{}", thousands(pps), share.unwrap_or_default())
        };
        let mut says = Vec::new();
        match (self.end, self.pps) {
            (Some(End::Found), Some(pps)) => says.push(format!(
                "{}, the network in between forwards {}.",
                match self.loss == 0.0 {
                    true => "Without loss".into(),
                    false => format!("With no more than {} % of loss", self.loss * 100.0),
                },
                rate(pps)
            )),
            (Some(End::Top), Some(pps)) => says.push(format!(
                "Nothing was lost up to {}, the highest rate that was tried.",
                rate(pps)
            )),
            (Some(End::SenderLimit), Some(pps)) => says.push(format!(
                "The sender is the limit: the router forwards at least {}. A faster sender is \
                    necessary to find its limit; --threads may help.",
                rate(pps)
            )),
            (Some(End::SenderLimit), None) => says.push(
                "The sender is the limit: it reached none of the requested \
                rates. This says nothing about the router."
                    .into(),
            ),
            (Some(End::ReceiverLimit), Some(pps)) => says.push(format!(
                "The receiver is the limit: the router forwards at least {}. As root, or with a \
                    larger net.core.rmem_max, the receiver accepts more.",
                rate(pps)
            )),
            (Some(End::ReceiverLimit), None) => says.push(
                "The receiver is the limit: it dropped \
                packets at each rate. This says nothing about the router."
                    .into(),
            ),
            (Some(End::Nothing), _) => {
                says.push("More was lost than allowed, even at the lowest rate.".into())
            }
            (Some(End::LinkFlapped), _) => says.push(
                "A link went down and came back: there is no result. Check cable and plugs, and \
                measure again."
                    .into(),
            ),
            (Some(End::Trials), Some(pps)) => says.push(format!(
                "The search is incomplete; the highest rate within the allowed loss is {}.",
                rate(pps)
            )),
            _ => {}
        }
        if let (None, None, Some(trial)) = (self.end, &self.trouble, self.trials.last()) {
            says.extend(self.asked_pps.map(|_| of_one(trial)));
        }
        if self.confirmed == Some(false) {
            says.push(
                "The longer trial at the end did not confirm the rate: its loss is in the last \
                row. The result is too high."
                    .into(),
            );
        }
        let silent = self
            .trials
            .iter()
            .map(|trial| self.flows.saturating_sub(trial.answered_flows));
        if let Some(silent) = silent.max().filter(|silent| *silent > 0) {
            says.push(format!(
                "{silent} of {} flows got no answer to their first packet: the router may not \
                treat them as established.",
                self.flows
            ));
        }
        if !self.complete {
            says.push("Ended early: some measurements are missing.".into());
        }
        says
    }
}

fn of_one(trial: &Trial) -> String {
    let sent = thousands(trial.sent_pps);
    match trial.judgement {
        TrialVerdict::Passed if trial.lost == 0 => {
            format!("No packet was lost at {sent} packets/s.")
        }
        TrialVerdict::Passed => format!(
            "{} packets were lost at {sent} packets/s: within the allowed loss.",
            trial.lost
        ),
        TrialVerdict::Lost => format!(
            "{:.2} % were lost on the way at {sent} packets/s: {} packets/s arrived.",
            trial.loss() * 100.0,
            thousands(trial.received_pps.unwrap_or_default())
        ),
        TrialVerdict::SenderLimit => format!(
            "The sender is the limit: it sent {sent} packets/s of {}. This says nothing about the \
                router.",
            thousands(trial.asked_pps)
        ),
        TrialVerdict::ReceiverLimit => format!(
            "The receiver is the limit: its own sockets or device dropped {} packets. As root, or \
                with a larger net.core.rmem_max, it accepts more. This \
                says nothing about the router.",
            trial.receiver_dropped
        ),
        TrialVerdict::LinkFlapped => "A link went down or came up meanwhile: there is no result. \
            Check cable and plugs, and measure again."
            .into(),
    }
}

/// Formats with commas: `1,488,095`.
pub fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(judgement: TrialVerdict) -> Trial {
        Trial {
            asked_pps: 20_000.0,
            sent_pps: 20_000.0,
            received_pps: Some(19_000.0),
            seconds: 2.0,
            sent: 40_000,
            received: 38_000,
            bytes: 38_000 * 60,
            lost: 2_000,
            receiver_dropped: 7,
            reordered: 0,
            duplicates: 0,
            answered_flows: 64,
            each_second: vec![19_000, 19_000],
            latency: Latency::of(vec![1000]),
            judgement,
            confirming: false,
        }
    }

    fn report(end: Option<End>, pps: Option<f64>, judgement: TrialVerdict) -> Report {
        Report {
            schema: super::super::SCHEMA.into(),
            sender: Machine::this(),
            receiver: Machine::this(),
            host: "there".into(),
            address: "192.0.2.1:9467".into(),
            device: "eth0".into(),
            link_mbit: Some(100.0),
            link_pps: Some(148_809.0),
            length: 60,
            flows: 64,
            threads: 1,
            seconds: 2.0,
            loss: 0.0,
            asked_pps: end.is_none().then_some(20_000.0),
            trials: vec![trial(judgement)],
            end,
            pps,
            confirmed: None,
            complete: true,
            trouble: None,
        }
    }

    #[test]
    fn no_limit_of_an_end_is_told_as_a_figure_of_the_router() {
        for end in [End::SenderLimit, End::ReceiverLimit] {
            let says = report(Some(end), Some(74_404.5), TrialVerdict::Passed).says();
            assert!(
                says[0].contains("is the limit") && says[0].contains("at least 74,404"),
                "{says:?}"
            );
            let says = report(Some(end), None, TrialVerdict::Passed).says();
            assert!(says[0].contains("nothing about the router"), "{says:?}");
        }
        for judgement in [TrialVerdict::SenderLimit, TrialVerdict::ReceiverLimit] {
            let says = report(None, None, judgement).says();
            assert!(says[0].contains("nothing about the router"), "{says:?}");
        }
        let says = report(None, None, TrialVerdict::LinkFlapped).says();
        assert!(says[0].contains("there is no result"), "{says:?}");
    }

    #[test]
    fn what_was_found_is_told_beside_the_link() {
        let says = report(Some(End::Found), Some(74_404.5), TrialVerdict::Passed).says();
        assert!(
            says[0].contains("50.0 % of what the link carries"),
            "{says:?}"
        );
        let says = report(None, None, TrialVerdict::Lost).says();
        assert!(says[0].contains("5.00 % were lost on the way"), "{says:?}");
        let mut one = report(None, None, TrialVerdict::Passed);
        one.complete = false;
        one.trials[0].answered_flows = 60;
        let says = one.says();
        assert!(
            says[1].contains("4 of 64 flows") && says[2].contains("Ended early"),
            "{says:?}"
        );
    }

    #[test]
    fn is_read_as_it_was_written() {
        let one = report(Some(End::Found), Some(1.0), TrialVerdict::Lost);
        let text = serde_json::to_string(&one).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Report>(&text).expect("a report"),
            one
        );
    }

    #[test]
    fn large_numbers_are_readable() {
        for (number, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (1000.0, "1,000"),
            (1_488_095.2, "1,488,095"),
        ] {
            assert_eq!(thousands(number), text);
        }
    }
}
