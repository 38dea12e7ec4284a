//! State of the display, and the next request: pure.

use std::time::Duration;

use answers::{Conversation, ConversationSort, Conversations, ConversationsQuery, Device, Devices};

use super::columns::{Column, ConversationColumn, DeviceColumn};
use super::find;
use super::keys::Key;
use super::rows::ListPosition;
use super::samples::Samples;
use crate::commands::conversations::from_inside;
use runtime::output::Charset;

/// Interval of requests to the daemon.
const EVERY: Duration = Duration::from_secs(1);

/// Wait from which a late response is reported.
const SLOW: Duration = Duration::from_secs(3);

/// Conversations that are asked for: more than anyone scrolls through, and some 300 KB of JSON.
const CONVS: u32 = 500;

/// Letters of a filter.
const LONGEST_FILTER: usize = 64;

/// Request to the daemon: devices always, and conversations where they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) conversations: Option<ConversationsQuery>,
}

/// Result of a [`Request`].
#[derive(Debug)]
pub(super) struct Response {
    pub(super) asked: Request,
    pub(super) got: Result<(Devices, Option<Conversations>), Problem>,
}

/// Reason for a missing answer, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) hint: String,
}

/// Effect of a key, in addition to a redraw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Redraw the screen: another program has written on the terminal.
    Redraw,
}

/// Displayed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    Devices,
    /// Conversations: of the device with this hardware address, or of all.
    Conversations(Option<String>),
}

/// State of the display.
#[derive(Debug)]
pub(super) struct State {
    pub(super) charset: Charset,
    /// True if the terminal has colours.
    pub(super) colour: bool,
    pub(super) view: View,
    /// The last answer.
    pub(super) devices: Option<Devices>,
    /// Conversations, if they are displayed.
    pub(super) conversations: Option<Conversations>,
    pub(super) samples: Samples,
    pub(super) device_list: ListPosition<DeviceColumn, String>,
    pub(super) conversation_list: ListPosition<ConversationColumn, u64>,
    /// Show only rows that contain this text.
    pub(super) filter: String,
    /// Keys are letters of the filter.
    pub(super) typing: bool,
    pub(super) paused: bool,
    /// Uplinks are listed too.
    pub(super) uplinks: bool,
    pub(super) help: bool,
    /// True if the details of a conversation are displayed.
    pub(super) detail: bool,
    /// Reason why the last request failed.
    problem: Option<Problem>,
    /// Time of the unanswered request.
    waiting: Option<Duration>,
    /// Time of the next request.
    next: Duration,
}

impl State {
    /// Creates an empty state.
    pub(super) fn new(charset: Charset, colour: bool) -> Self {
        Self {
            charset,
            colour,
            view: View::Devices,
            devices: None,
            conversations: None,
            samples: Samples::default(),
            device_list: ListPosition::new(DeviceColumn::Down),
            conversation_list: ListPosition::new(ConversationColumn::Down),
            filter: String::new(),
            typing: false,
            paused: false,
            uplinks: false,
            help: false,
            detail: false,
            problem: None,
            waiting: None,
            next: Duration::ZERO,
        }
    }

    /// Returns the request that is due now, if any. No second request is sent before the first
    /// response.
    pub(super) fn tick(&mut self, now: Duration) -> Option<Request> {
        if self.paused || self.waiting.is_some() || now < self.next {
            return None;
        }
        self.waiting = Some(now);
        self.next = now + EVERY;
        Some(self.wanted())
    }

    /// Returns the time until [`State::tick`] or a redraw is due.
    pub(super) fn patience(&self, now: Duration) -> Duration {
        if self.paused || self.waiting.is_some() {
            EVERY
        } else {
            self.next.saturating_sub(now)
        }
    }

    fn wanted(&self) -> Request {
        let View::Conversations(device) = &self.view else {
            return Request::default();
        };
        let sort = match self.conversation_list.sort {
            ConversationColumn::Received | ConversationColumn::Sent => ConversationSort::Bytes,
            _ => ConversationSort::Rate,
        };
        Request {
            conversations: Some(ConversationsQuery {
                device: device.clone(),
                port: None,
                sort,
                limit: CONVS,
            }),
        }
    }

    /// Handles a response of the daemon, or its absence.
    pub(super) fn answer(&mut self, answer: Response, now: Duration) {
        self.waiting = None;
        if self.paused {
            return;
        }
        match answer.got {
            Err(trouble) => self.problem = Some(trouble),
            Ok((devices, conversations)) => {
                self.problem = None;
                self.samples.add(&devices, now);
                self.devices = Some(devices);
                // The user may have changed the view meanwhile.
                if answer.asked == self.wanted() {
                    self.conversations = conversations;
                    if let (View::Conversations(None), Some(answer)) =
                        (&self.view, &mut self.conversations)
                    {
                        answer.conversations.iter_mut().for_each(from_inside);
                    }
                } else {
                    self.next = now;
                }
            }
        }
    }

    /// Returns the reason why the screen is out of date; `None`: the screen is current.
    pub(super) fn problem(&self, now: Duration) -> Option<(String, &str)> {
        if let Some(trouble) = &self.problem {
            return Some((trouble.what.clone(), &trouble.hint));
        }
        let since = now.saturating_sub(self.waiting?);
        (since >= SLOW).then(|| {
            let what = format!("weir has not answered for {} s", since.as_secs());
            (
                what,
                "a very busy router answers late; else see the daemon's log",
            )
        })
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: Key, now: Duration) -> Option<Action> {
        if key == Key::Interrupt {
            return Some(Action::Quit);
        }
        if key == Key::Redraw {
            return Some(Action::Redraw);
        }
        if self.typing {
            self.type_filter(key);
            return None;
        }
        if self.help {
            // Whatever is pressed, the help has been read.
            self.help = false;
            return (key == Key::Char('q')).then_some(Action::Quit);
        }
        match key {
            Key::Char('q') => return Some(Action::Quit),
            Key::Char('?' | 'h') => self.help = true,
            Key::Char('/') => {
                self.typing = true;
                self.detail = false;
            }
            Key::Char('p' | ' ') => {
                self.paused = !self.paused;
                self.next = now;
            }
            Key::Char('u') => self.uplinks = !self.uplinks,
            Key::Char('r') => match self.view {
                View::Devices => self.device_list.reversed = !self.device_list.reversed,
                View::Conversations(_) => {
                    self.conversation_list.reversed = !self.conversation_list.reversed
                }
            },
            Key::Char(letter @ ('s' | 'S' | '<' | '>')) => {
                let forward = matches!(letter, 's' | '>');
                match self.view {
                    View::Devices => self.device_list.sort_by_next(DeviceColumn::SORTS, forward),
                    View::Conversations(_) => self
                        .conversation_list
                        .sort_by_next(ConversationColumn::SORTS, forward),
                }
            }
            Key::Char(digit @ '1'..='9') => self.sort_by(digit),
            Key::Tab | Key::Char('c') => self.show(
                if self.view == View::Devices {
                    View::Conversations(None)
                } else {
                    View::Devices
                },
                now,
            ),
            Key::Enter => self.enter(now),
            Key::Esc => self.back(now),
            _ => self.step(key),
        }
        None
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.typing = false,
            Key::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Char(letter) if self.filter.chars().count() < LONGEST_FILTER => {
                self.filter.push(letter)
            }
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => self.step(key),
            _ => {}
        }
    }

    fn sort_by(&mut self, digit: char) {
        let Some(index) = digit
            .to_digit(10)
            .and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1))
        else {
            return;
        };
        match self.view {
            View::Devices => DeviceColumn::SORTS
                .get(index)
                .into_iter()
                .for_each(|column| self.device_list.sort_by(*column)),
            View::Conversations(_) => ConversationColumn::SORTS
                .get(index)
                .into_iter()
                .for_each(|column| self.conversation_list.sort_by(*column)),
        }
    }

    fn step(&mut self, key: Key) {
        match self.view {
            View::Devices => {
                let rows = self.macs();
                walk(&mut self.device_list, key, &rows);
            }
            View::Conversations(_) => {
                let rows = self.ids();
                walk(&mut self.conversation_list, key, &rows);
            }
        }
    }

    fn enter(&mut self, now: Duration) {
        match self.view {
            View::Devices => {
                if let Some(mac) = self.device_list.chosen(&self.macs()) {
                    self.show(View::Conversations(Some(mac)), now);
                }
            }
            View::Conversations(_) => {
                self.detail = !self.detail && self.chosen_conversation().is_some()
            }
        }
    }

    /// Goes one step back: from a conversation to the list, from a filter to no filter, from the
    /// conversations of a device to all devices.
    fn back(&mut self, now: Duration) {
        if self.detail {
            self.detail = false;
        } else if !self.filter.is_empty() {
            self.filter.clear();
        } else if self.view != View::Devices {
            self.show(View::Devices, now);
        }
    }

    fn show(&mut self, view: View, now: Duration) {
        self.view = view;
        self.conversations = None;
        self.detail = false;
        self.filter.clear();
        self.conversation_list.go(0, &[]);
        // The user waits, so the request is due at once. The pause ends, as a paused screen would
        // stay empty.
        self.paused = false;
        self.next = now;
    }

    /// Returns the devices to list, in order.
    pub(super) fn listed(&self) -> Vec<&Device> {
        let all = self.devices.iter().flat_map(|answer| &answer.devices);
        let fits = |device: &&Device| {
            (self.uplinks || !device.uplink) && find::device(device, &self.filter)
        };
        let mut listed: Vec<&Device> = all.filter(fits).collect();
        listed.sort_by(|a, b| turned(self.device_list.sort.order(a, b), self.device_list.reversed));
        listed
    }

    /// Returns the conversations to list, in order.
    pub(super) fn listed_conversations(&self) -> Vec<&Conversation> {
        let all = self
            .conversations
            .iter()
            .flat_map(|answer| &answer.conversations);
        let mut listed: Vec<&Conversation> = all
            .filter(|conversation| find::conversation(conversation, &self.filter))
            .collect();
        listed.sort_by(|a, b| {
            turned(
                self.conversation_list.sort.order(a, b),
                self.conversation_list.reversed,
            )
        });
        listed
    }

    fn macs(&self) -> Vec<String> {
        self.listed()
            .into_iter()
            .map(|device| device.mac.clone())
            .collect()
    }

    fn ids(&self) -> Vec<u64> {
        self.listed_conversations()
            .into_iter()
            .map(|conversation| conversation.id)
            .collect()
    }

    /// Returns the selected conversation.
    pub(super) fn chosen_conversation(&self) -> Option<&Conversation> {
        let listed = self.listed_conversations();
        let id = self.conversation_list.chosen(
            &listed
                .iter()
                .map(|conversation| conversation.id)
                .collect::<Vec<_>>(),
        )?;
        listed
            .into_iter()
            .find(|conversation| conversation.id == id)
    }

    /// Returns the device whose conversations are shown.
    pub(super) fn shown_device(&self) -> Option<&Device> {
        let View::Conversations(Some(mac)) = &self.view else {
            return None;
        };
        self.devices
            .iter()
            .flat_map(|answer| &answer.devices)
            .find(|device| device.mac == *mac)
    }
}

fn turned(order: std::cmp::Ordering, reversed: bool) -> std::cmp::Ordering {
    if reversed { order.reverse() } else { order }
}

fn walk<C: Copy + PartialEq, I: Clone + PartialEq>(
    place: &mut ListPosition<C, I>,
    key: Key,
    rows: &[I],
) {
    match key {
        Key::Up | Key::Char('k') => place.step(-1, rows),
        Key::Down | Key::Char('j') => place.step(1, rows),
        Key::PageUp => place.turn(-1, rows),
        Key::PageDown => place.turn(1, rows),
        Key::Home | Key::Char('g') => place.go(0, rows),
        Key::End | Key::Char('G') => place.go(usize::MAX, rows),
        _ => {}
    }
}

#[cfg(test)]
pub(in crate::top) mod tests;
