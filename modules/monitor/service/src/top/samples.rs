//! The last minute: one sample a second, of the uplinks and of each device.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use answers::{Device, Devices, Rate};

use crate::commands::devices::through;

/// Seconds that are kept.
pub(super) const MINUTE: usize = 60;

/// Maximum number of devices with samples, the first of the answer: the busiest. Each takes half a
/// KiB.
const MOST: usize = 1024;

/// Rates of both directions, kbit/s, rounded up: only 0 becomes 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) down: u32,
    pub(super) up: u32,
}

impl Sample {
    fn new(down: u64, up: u64) -> Self {
        let thousands = |bits: u64| u32::try_from(bits.div_ceil(1000)).unwrap_or(u32::MAX);
        Self {
            down: thousands(down),
            up: thousands(up),
        }
    }

    /// Returns the sum of both directions.
    pub(super) fn both(self) -> u64 {
        u64::from(self.down) + u64::from(self.up)
    }
}

/// A minute of one subject, the latest second last; `None`: no answer in that second.
pub(super) type Minute = VecDeque<Option<Sample>>;

/// Samples of each second.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// The second to which the last sample belongs.
    last: Option<u64>,
    uplinks: Minute,
    devices: HashMap<String, Minute>,
}

impl Samples {
    /// Adds a response. Of several in one second the last counts; seconds without any become gaps.
    pub(super) fn add(&mut self, answer: &Devices, now: Duration) {
        let second = now.as_secs();
        let passed = self.last.map_or(1, |last| second.saturating_sub(last));
        let passed = usize::try_from(passed).unwrap_or(MINUTE).min(MINUTE);
        self.last = Some(second);
        for minute in self.devices.values_mut() {
            advance(minute, passed);
        }
        advance(&mut self.uplinks, passed);
        let (down, up) = everything(answer);
        set(&mut self.uplinks, Sample::new(down, up));
        for device in answer.devices.iter().take(MOST) {
            let Rate { received, sent } = device.rate;
            let minute = self
                .devices
                .entry(device.mac.clone())
                .or_insert_with(|| [None].into());
            set(minute, Sample::new(received, sent));
        }
        // Removed when no samples are left, or when there are too many devices.
        self.devices
            .retain(|_, minute| minute.iter().any(Option::is_some));
        if self.devices.len() > 2 * MOST {
            self.devices
                .retain(|_, minute| minute.back().is_some_and(Option::is_some));
        }
    }

    /// Returns the sum of all uplinks.
    pub(super) fn uplinks(&self) -> &Minute {
        &self.uplinks
    }

    /// Returns the samples of a device.
    pub(super) fn device(&self, mac: &str) -> Option<&Minute> {
        self.devices.get(mac)
    }
}

fn advance(minute: &mut Minute, seconds: usize) {
    for _ in 0..seconds {
        if minute.len() >= MINUTE {
            minute.pop_front();
        }
        minute.push_back(None);
    }
}

fn set(minute: &mut Minute, sample: Sample) {
    if let Some(latest) = minute.back_mut() {
        *latest = Some(sample);
    }
}

/// Returns bits a second down and up through all uplinks. Without an uplink, the bits are those to
/// and from all devices: Internet traffic, otherwise LAN traffic.
pub(super) fn everything(answer: &Devices) -> (u64, u64) {
    let sum = |(down, up): (u64, u64), (more_down, more_up): (u64, u64)| {
        (down.saturating_add(more_down), up.saturating_add(more_up))
    };
    if answer.ports.iter().any(|port| port.uplink) {
        let uplinks = answer.ports.iter().filter(|port| port.uplink);
        uplinks.map(through).fold((0, 0), sum)
    } else {
        let stations = answer.devices.iter().filter(|device| !device.uplink);
        let has_some = |device: &Device| device.received.packets > 0 || device.sent.packets > 0;
        let internet = stations.clone().any(has_some);
        let rates = stations
            .map(|device| {
                if internet {
                    device.rate
                } else {
                    device.lan.rate
                }
            })
            .map(|rate| (rate.received, rate.sent));
        rates.fold((0, 0), sum)
    }
}

#[cfg(test)]
mod tests {
    use answers::MeteredPort;

    use super::*;

    fn answer(macs: &[&str], rate: u64) -> Devices {
        let device = |mac: &&str| Device {
            mac: (*mac).to_owned(),
            rate: Rate {
                received: rate,
                sent: 1,
            },
            ..Device::default()
        };
        Devices {
            devices: macs.iter().map(device).collect(),
            ports: vec![MeteredPort {
                uplink: true,
                rate: Rate {
                    received: 1,
                    sent: rate,
                },
                ..MeteredPort::default()
            }],
            ..Devices::default()
        }
    }

    #[test]
    fn seconds_without_an_answer_are_gaps() {
        let mut samples = Samples::default();
        samples.add(&answer(&["a"], 5000), Duration::from_millis(900));
        samples.add(&answer(&["a"], 7001), Duration::from_millis(1000));
        samples.add(&answer(&["a", "b"], 9000), Duration::from_millis(4100));
        let down = |minute: &Minute| {
            minute
                .iter()
                .map(|sample| sample.map(|s| s.down))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            down(samples.uplinks()),
            [Some(5), Some(8), None, None, Some(9)]
        );
        assert_eq!(
            down(samples.device("a").expect("known")),
            [Some(5), Some(8), None, None, Some(9)]
        );
        assert_eq!(down(samples.device("b").expect("known")), [Some(9)]);
        assert_eq!(samples.uplinks()[0].map(|s| s.up), Some(1), "rounded up");
    }

    #[test]
    fn memory_is_bounded() {
        let mut samples = Samples::default();
        for second in 0..1000 {
            let names: Vec<String> = (0..3000).map(|n| format!("{}", second * 700 + n)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            samples.add(&answer(&names, 5000), Duration::from_secs(second));
            assert!(samples.devices.len() <= 2 * MOST && samples.uplinks.len() <= MINUTE);
            assert!(
                samples
                    .devices
                    .values()
                    .all(|minute| minute.len() <= MINUTE)
            );
            if second == 20 {
                break;
            }
        }
        samples.add(&answer(&["a"], 1), Duration::from_secs(100));
        assert_eq!(
            samples.devices.len(),
            1,
            "what was not seen for a minute is forgotten"
        );
    }

    #[test]
    fn without_an_uplink_devices_are_summed_up() {
        let mut both = answer(&["a", "b"], 10);
        assert_eq!(everything(&both), (10, 1));
        both.ports.clear();
        assert_eq!(everything(&both), (0, 0));
        both.devices[0].received.packets = 1;
        assert_eq!(everything(&both), (20, 2));
        both.devices[0].received.packets = 0;
        for device in &mut both.devices {
            device.lan.rate = device.rate;
        }
        assert_eq!(everything(&both), (20, 2));
    }
}
