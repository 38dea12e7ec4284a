//! The stations of a radio: which exist, their throughput, and which need all of the power.

use std::collections::BTreeMap;

use super::log::Reason;
use super::reading::{Counters, Mac, Reading, Station};
use super::settings::Settings;
use super::tally::{Estimate, Tally, Verdict};

/// Length of the intervals in which a wall is searched, ms,
const PIECE: u64 = 100;
/// and in frames,
const PIECE_FRAMES: u32 = 8;
/// and is one where less than this share of the reference arrives.
const WALL: f64 = 0.5;
/// A station that receives us at this level, dBm, decodes 64-QAM with some 10 dB to spare (IEEE
/// 802.11-2020, 17.3.10.2: -65 dBm at 54 Mbit/s, and radios are better than that).
const LOUD: i32 = -58;

/// State of a station.
#[derive(Clone, Debug)]
pub(super) struct StationState {
    /// Time of the station's arrival.
    since: u64,
    /// The number of the reading that it was in last.
    reading: u64,
    counters: Counters,
    /// Time of the last frame to the station.
    sent: Option<u64>,
    /// At the present power, after frames that were queued before.
    pub tally: Tally,
    /// The last interval of the tally.
    piece: Tally,
    /// Throughput at the greatest power.
    pub reference: Option<Estimate>,
    /// Throughput at the held power, at the last watch.
    pub held: Option<Estimate>,
    /// Signal of the last acknowledgement, dBm, if the driver reports it.
    ack: Option<i8>,
    /// True if throughput fell despite a loud signal: the station sends with more than we do.
    misleads: bool,
}

impl StationState {
    /// Returns the reduction of power, dB, at which the station still receives a strong signal, if
    /// both send with one power. `None`: unknown.
    fn room(&self) -> Option<i32> {
        // 0 is of drivers that do not know, more of those that count from their noise.
        let ack = self.ack.filter(|&ack| ack < 0 && !self.misleads)?;
        Some(i32::from(ack) - LOUD)
    }
}

/// All stations of a radio.
#[derive(Clone, Debug, Default)]
pub(super) struct Stations {
    all: BTreeMap<Mac, StationState>,
    /// Since when the last pieces are.
    piece: u64,
    /// Number of readings.
    readings: u64,
}

impl Stations {
    /// Iterates over the stations.
    pub fn each(&self) -> impl Iterator<Item = &StationState> {
        self.all.values()
    }

    /// Iterates over the stations for changes.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut StationState> {
        self.all.values_mut()
    }

    /// Begins a new watch: nothing was sent yet.
    pub fn begin(&mut self, now: u64) {
        for known in self.all.values_mut() {
            (known.tally, known.piece) = (Tally::default(), Tally::default());
        }
        self.piece = now;
    }

    /// Adds the counters of a reading at the current power.
    pub fn look(&mut self, reading: &Reading) {
        for station in &reading.stations {
            if let Some(known) = self.all.get_mut(&station.mac) {
                known.tally.look(station);
                known.piece.look(station);
            }
        }
    }

    /// Updates the list of stations and finds new ones.
    pub fn know(&mut self, now: u64, reading: &Reading, begun: bool) {
        self.readings += 1;
        for station in &reading.stations {
            let counters = station.counters;
            let ack = station.ack_signal;
            let known = self.all.get_mut(&station.mac);
            let more = known.as_ref().and_then(|it| counters.since(it.counters));
            if let (Some(known), Some(more)) = (known, more) {
                known.reading = self.readings;
                known.counters = counters;
                known.ack = ack;
                if more.frames > 0 {
                    known.sent = Some(now);
                }
                continue;
            }
            // Stations that were there before weir are not new.
            let ago = match begun {
                true => 0,
                false => u64::from(station.connected).saturating_mul(1000),
            };
            let known = StationState {
                since: now.saturating_sub(ago),
                reading: self.readings,
                counters,
                sent: None,
                tally: Tally::default(),
                piece: Tally::default(),
                reference: None,
                held: None,
                ack,
                misleads: false,
            };
            self.all.insert(station.mac, known);
        }
        self.all.retain(|_, known| known.reading == self.readings);
    }

    /// Returns the reason why full power is needed, and the station that needs it.
    pub fn guard(
        &self,
        now: u64,
        reading: &Reading,
        settings: &Settings,
    ) -> Option<(Reason, Option<Mac>)> {
        let new = |station: &&Station| {
            let known = self.all.get(&station.mac);
            known.is_some_and(|it| now.saturating_sub(it.since) < settings.newcomer)
        };
        if let Some(station) = reading.stations.iter().find(new) {
            return Some((Reason::Newcomer, Some(station.mac)));
        }
        let active = |mac: &Mac| self.active(now, mac, settings);
        let lost = |station: &&Station| {
            active(&station.mac) && u64::from(station.silent) >= settings.silent
        };
        if let Some(station) = reading.stations.iter().find(lost) {
            return Some((Reason::Silent, Some(station.mac)));
        }
        let edge = |station: &&Station| {
            // Drivers without a measurement report 0.
            let faint = station.ack_signal.filter(|&signal| signal != 0);
            active(&station.mac) && faint.is_some_and(|signal| signal < settings.floor)
        };
        if let Some(station) = reading.stations.iter().find(edge) {
            return Some((Reason::Edge, Some(station.mac)));
        }
        let idle = !self.all.keys().any(active);
        idle.then_some((Reason::Idle, None))
    }

    /// Returns true if frames to the station were given up recently.
    pub fn gave_up(&self, mac: &Mac) -> bool {
        let known = self.all.get(mac);
        known.is_some_and(|known| known.piece.sum().failed > 0)
    }

    /// Returns the reduction of power, dB, at which all active stations still receive a strong
    /// signal.
    pub fn room(&self, now: u64, settings: &Settings) -> Option<i32> {
        let active = self.all.iter();
        let active = active.filter(|(mac, _)| self.active(now, mac, settings));
        let rooms: Option<Vec<i32>> = active.map(|(_, known)| known.room()).collect();
        rooms?.into_iter().min()
    }

    /// Returns true if the station would receive us loud with `less` dB less.
    pub fn is_loud(&self, mac: &Mac, less: i32) -> bool {
        let room = self.all.get(mac).and_then(StationState::room);
        room.is_some_and(|room| less <= room)
    }

    /// Records a loss with `less` dB less. If the signal should have been loud then, the station's
    /// signal misleads.
    pub fn mislead(&mut self, mac: &Mac, less: i32) {
        let loud = self.is_loud(mac, less);
        if let Some(known) = self.all.get_mut(mac).filter(|_| loud) {
            known.misleads = true;
        }
    }

    /// Returns true if frames were sent to the station recently.
    fn active(&self, now: u64, mac: &Mac, settings: &Settings) -> bool {
        let sent = self.all.get(mac).and_then(|known| known.sent);
        sent.is_some_and(|sent| now.saturating_sub(sent) < settings.silent)
    }

    /// Returns a station whose throughput fell sharply, if the power is lower than before the fall.
    pub fn wall(&mut self, now: u64, lower: bool, certainty: f64) -> Option<Mac> {
        let over = now.saturating_sub(self.piece) >= PIECE;
        if over {
            self.piece = now;
        }
        let mut found = None;
        for (mac, known) in &mut self.all {
            let piece = &known.piece;
            if lower && piece.sum().frames >= PIECE_FRAMES {
                let pair = piece.estimate().zip(known.reference);
                let fell = pair.is_some_and(|(now, was)| {
                    now.throughput + certainty * now.error < WALL * was.throughput
                });
                if piece.unheard() || fell {
                    found = found.or(Some(*mac));
                }
            }
            if over {
                known.piece = piece.onward();
            }
        }
        found
    }

    /// Returns the station that loses most, with its throughput and its reference, among stations
    /// with enough frames. `Open` if others have too few frames yet.
    pub fn worst(
        &self,
        settings: &Settings,
        of: impl Fn(&StationState) -> Option<Estimate>,
    ) -> Option<(Mac, Estimate, Estimate, Verdict)> {
        let told = self.all.iter().filter_map(|(mac, known)| {
            let found = of(known).filter(|it| it.frames >= settings.frames)?;
            let was = known.reference?;
            let verdict = found.against(&was, settings.keep, settings.certainty);
            Some((*mac, found, was, verdict))
        });
        told.min_by(|a, b| {
            let rank = |verdict| match verdict {
                Verdict::Loses => 0,
                Verdict::Open => 1,
                Verdict::Keeps => 2,
            };
            let share = a.1.share(&a.2).total_cmp(&b.1.share(&b.2));
            rank(a.3).cmp(&rank(b.3)).then(share)
        })
    }
}
