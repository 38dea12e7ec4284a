//! Sender's side: reaches a receiver, makes trials, and reports.

use std::time::Duration;

use super::code::Code;
use super::control::{Control, ControlError};
use super::device::Device;
use super::latency::{Latency, one_of};
use super::message::{Message, Refusal, TrialResult};
use super::payload::Kind;
use super::report::{Report, Trial};
use super::search::{RESOLUTION, Search};
use super::target::{Settings, Target, gone, prove};
use super::transmit::{Flows, Order, SendResult};
use super::verdict::{TrialObservation, TrialVerdict};
use super::{MOST_RATE, MOST_SECONDS, Problem, SCHEMA, code, frame, message};
use crate::local::Progress;
use crate::machine::Machine;

/// Longest wait until the receiver is ready, or has counted.
const ANSWER: Duration = Duration::from_secs(20);
/// Seconds of warm-up at the rate of the trial, for the router to move flows to its fast path.
const WARM: f64 = 0.3;
/// Pause between warm-up and counted packets.
const GAP: Duration = Duration::from_millis(100);
/// Seconds for the first packets of all flows, with many flows and no answers.
const GREETING: f64 = 5.0;
/// Factor on the seconds for the trial at the end.
const LONGER: f64 = 5.0;
/// Most trials at the end; each one after a loss has a lower rate.
const CONFIRMATIONS: u32 = 4;
/// Typical number of trials of a search, for the progress bar only.
const ABOUT: f64 = 16.0;

/// Reason why a trial has no result.
enum Failed {
    /// The user asked to end.
    Ended,
    Trouble(Problem),
}

impl From<Problem> for Failed {
    fn from(trouble: Problem) -> Self {
        Self::Trouble(trouble)
    }
}

/// Sender that the receiver accepted.
struct Sender<'a> {
    settings: &'a Settings,
    reached: &'a Target,
    control: Control,
    flows: Flows,
    told: &'a mut dyn FnMut(&Progress),
    stop: &'a dyn Fn() -> bool,
    report: Report,
}

/// Measures until done, or until `stop` returns true; reports the trials made by then.
///
/// # Errors
/// No trial was made. Later problems are in the report.
pub fn run(
    settings: &Settings,
    reached: &Target,
    code: &Code,
    told: &mut dyn FnMut(&Progress),
    stop: &dyn Fn() -> bool,
) -> Result<Report, Problem> {
    let mut control = reached.connect(settings)?;
    let receiver = prove(&mut control, reached, code, stop)?;
    let payload = frame::payload(reached.length, reached.address.is_ipv6())
        .map_err(|error| Problem::new(error.to_string(), "use a larger --length"))?;
    let flows = Flows::open(
        reached.address,
        settings.flows,
        payload,
        settings.device.as_deref(),
    )?;
    let link = settings.link.or_else(|| reached.device.speed());
    let link_pps = link.map(|link| frame::most(link, reached.length));
    let report = Report {
        schema: SCHEMA.into(),
        sender: Machine::this(),
        receiver,
        host: settings.host.clone(),
        address: reached.address.to_string(),
        device: reached.device.name.clone(),
        link_mbit: link,
        link_pps,
        length: reached.length,
        flows: settings.flows,
        threads: settings.threads,
        seconds: settings.seconds,
        loss: settings.loss,
        asked_pps: settings.rate,
        trials: Vec::new(),
        end: None,
        pps: None,
        confirmed: None,
        complete: true,
        trouble: None,
    };
    let mut sender = Sender {
        settings,
        reached,
        control,
        flows,
        told,
        stop,
        report,
    };
    let made = match settings.rate {
        Some(rate) => sender.trial(rate, settings.seconds, true, 0.0).map(|_| ()),
        None => sender.search(link_pps),
    };
    let Sender {
        mut report,
        mut control,
        ..
    } = sender;
    match made {
        Ok(()) => {}
        Err(Failed::Ended) => report.complete = false,
        Err(Failed::Trouble(trouble)) => {
            report.complete = false;
            report.trouble = Some(format!("{}: {}", trouble.what, trouble.hint));
            if report.trials.is_empty() {
                return Err(trouble);
            }
        }
    }
    // The receiver notices the closed connection anyway.
    let _ = control.say(&Message::Bye);
    Ok(report)
}

impl Sender<'_> {
    fn search(&mut self, link: Option<f64>) -> Result<(), Failed> {
        let top = link.unwrap_or(MOST_RATE).min(MOST_RATE);
        let mut search = Search::new(top);
        while let Some(rate) = search.next() {
            let done = (f64::from(search.trials()) / ABOUT).min(0.8);
            let (seen, trial) = self.trial(rate, self.settings.seconds, false, done)?;
            search.told(&seen, trial.sent_pps);
            self.report.pps = search.found();
        }
        self.report.end = search.end();
        let Some(mut rate) = search.found() else {
            return Ok(());
        };
        let longer = (self.settings.seconds * LONGER).min(MOST_SECONDS);
        for _ in 0..CONFIRMATIONS {
            let (seen, trial) = self.trial(rate, longer, true, 0.85)?;
            match seen.judge() {
                TrialVerdict::Passed => {
                    self.report.confirmed = Some(true);
                    self.report.pps = Some(trial.sent_pps);
                    break;
                }
                judgement => {
                    self.report.confirmed = Some(false);
                    if judgement == TrialVerdict::Lost {
                        rate *= 1.0 - RESOLUTION;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes a trial: greets the flows, warms up, sends, and asks for the receiver's count.
    fn trial(
        &mut self,
        rate: f64,
        seconds: f64,
        confirming: bool,
        done: f64,
    ) -> Result<(TrialObservation, Trial), Failed> {
        let text = super::report::thousands(rate);
        (self.told)(&Progress {
            doing: format!("{text} packets/s for {seconds} s"),
            done,
            left: Duration::from_secs_f64(match self.settings.rate {
                Some(_) => seconds,
                None => (1.0 - done) * ABOUT * (self.settings.seconds + 1.0),
            }),
        });
        let run =
            u32::from_be_bytes(code::random().map_err(|error| {
                Problem::new(error.to_string(), "wait a moment and start again")
            })?);
        let warm = (seconds / 2.0).min(WARM);
        self.say(&Message::Trial(message::Trial {
            run,
            flows: self.settings.flows,
            length: self.reached.length,
            seconds: seconds + warm + GREETING,
        }))?;
        match self.hear()? {
            Message::Ready { .. } => {}
            Message::Refused { reason } => return Err(self.refused(reason).into()),
            _ => return Err(self.reached.stranger().into()),
        }
        let changes = self.reached.device.carrier_changes();
        let (stop, reached) = (self.stop, self.reached);
        let (flows, control) = (&self.flows, &mut self.control);
        let threads = self.settings.threads;
        let sending = flows.hearing(run, |heard| -> Result<_, Failed> {
            let mut broken = None;
            let mut watch = || {
                if broken.is_none() {
                    broken = listen(control, reached);
                }
                broken.is_some() || stop()
            };
            flows.greet(run, heard, stop);
            let order = Order {
                run,
                rate,
                seconds: warm,
                threads,
                kind: Kind::Warm,
                mark: 0,
            };
            flows.send(order, &mut watch);
            std::thread::sleep(GAP);
            let order = Order {
                seconds,
                kind: Kind::Counted,
                mark: one_of(rate),
                ..order
            };
            let before = reached.device.queue_dropped();
            let mut sent = flows.send(order, &mut watch);
            // Answers arrive after the packets they answer, and the device's queue has to drain.
            std::thread::sleep(GAP);
            // Packets dropped by the queue never left; sockets report no error for them.
            let dropped = reached.device.queue_dropped().wrapping_sub(before);
            sent.packets = sent.packets.saturating_sub(dropped.into());
            match broken {
                _ if stop() => Err(Failed::Ended),
                Some(trouble) => Err(trouble.into()),
                None => Ok((sent, heard.flows(), heard.times())),
            }
        })?;
        let (sent, answered, times) = sending?;
        self.say(&Message::Over)?;
        let counted = match self.hear()? {
            Message::Counted(counted) => counted,
            _ => return Err(self.reached.stranger().into()),
        };
        if answered == 0 && counted.packets == 0 {
            return Err(Problem::new(
                format!(
                    "no UDP packet arrives at {}, although the receiver answers",
                    self.reached.address
                ),
                "allow UDP to that port, at the router and at the receiver",
            )
            .into());
        }
        let flapped = flapped(&self.reached.device, changes) || counted.carrier_changes > 0;
        let seen = TrialObservation {
            asked: rate * seconds,
            sent: sent.packets,
            received: counted.packets,
            receiver_dropped: counted.socket_dropped + counted.device_dropped,
            flapped,
            allowed: self.settings.loss,
        };
        let trial = trial(rate, sent, &seen, counted, confirming);
        let trial = Trial {
            answered_flows: answered,
            latency: Latency::of(times),
            ..trial
        };
        self.report.trials.push(trial.clone());
        Ok((seen, trial))
    }

    fn say(&mut self, message: &Message) -> Result<(), Failed> {
        let said = self.control.say(message);
        said.map_err(|broken| Failed::Trouble(gone(self.reached, &broken)))
    }

    fn hear(&mut self) -> Result<Message, Failed> {
        self.control
            .hear(ANSWER, self.stop)
            .map_err(|broken| match broken {
                ControlError::Ended => Failed::Ended,
                broken => Failed::Trouble(gone(self.reached, &broken)),
            })
    }

    fn refused(&self, reason: Refusal) -> Problem {
        self.reached.refused(reason)
    }
}

/// Returns whether the link went up or down since `before`.
fn flapped(device: &Device, before: u64) -> bool {
    device.carrier_changes() != before
}

/// Checks that the receiver is still there: it stays silent while a trial runs.
fn listen(control: &mut Control, reached: &Target) -> Option<Problem> {
    match control.poll() {
        Ok(None) => None,
        Ok(Some(_)) => Some(reached.stranger()),
        Err(broken) => Some(gone(reached, &broken)),
    }
}

fn trial(
    rate: f64,
    sent: SendResult,
    seen: &TrialObservation,
    counted: TrialResult,
    confirming: bool,
) -> Trial {
    let seconds = sent.seconds.max(f64::MIN_POSITIVE);
    Trial {
        asked_pps: rate,
        sent_pps: sent.packets as f64 / seconds,
        received_pps: (!seen.flapped).then_some(counted.packets as f64 / seconds),
        seconds: sent.seconds,
        sent: sent.packets,
        received: counted.packets,
        bytes: counted.octets,
        lost: seen.lost(),
        receiver_dropped: seen.receiver_dropped,
        reordered: counted.reordered,
        duplicates: counted.duplicates,
        answered_flows: 0,
        each_second: counted.seconds,
        latency: None,
        judgement: seen.judge(),
        confirming,
    }
}
