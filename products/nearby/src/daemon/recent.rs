//! Recent messages of all senders, for listeners that connect later.

use std::collections::VecDeque;

use super::wire::{Message, Notification};

/// Messages at most.
pub const MESSAGES: usize = 200;
/// Largest total length of the texts, in bytes: unauthenticated senders choose long ones.
pub const OCTETS: usize = 1 << 20;

/// The last messages, the oldest first.
#[derive(Debug, Default)]
pub struct RecentLog {
    messages: VecDeque<Message>,
    octets: usize,
}

impl RecentLog {
    /// Stores a message, or updates its delivery status.
    pub fn note(&mut self, said: &Notification) {
        if let Some(message) = Message::of(said) {
            self.put(message);
        } else if let Notification::Outcome { number, done, .. } = said {
            let mut all = self.messages.iter_mut();
            // The message may already be dropped.
            if let Some(message) = all.find(|it| it.number == Some(*number)) {
                match done {
                    true => message.done += 1,
                    false => message.failed += 1,
                }
            }
        }
    }

    fn put(&mut self, message: Message) {
        self.octets += message.text.len();
        self.messages.push_back(message);
        while self.messages.len() > MESSAGES || self.octets > OCTETS {
            let Some(oldest) = self.messages.pop_front() else {
                return;
            };
            self.octets -= oldest.text.len();
        }
    }

    /// Returns all messages, the oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Notification {
        Notification::Message {
            peer: "0598f7b34b75adcb".to_owned(),
            format: "v2".to_owned(),
            sender: "01".repeat(8),
            text: text.to_owned(),
            time: 7,
        }
    }

    fn own(number: u64, to: u64) -> Notification {
        Notification::Own {
            number,
            sender: "02".repeat(8),
            text: "Hello".to_owned(),
            time: 8,
            to,
            peer: None,
        }
    }

    fn outcome(number: u64, done: bool) -> Notification {
        Notification::Outcome {
            number,
            peer: "0598f7b34b75adcb".to_owned(),
            done,
        }
    }

    #[test]
    fn what_was_said_is_kept_with_what_became_of_it() {
        let mut past = RecentLog::default();
        past.note(&heard("Who is there?"));
        past.note(&own(1, 3));
        past.note(&own(2, 1));
        let near = || "0598f7b34b75adcb".to_owned();
        past.note(&Notification::Near { peer: near() });
        past.note(&Notification::Gone { peer: near() });
        for (number, done) in [(1, true), (2, false), (1, false), (1, true), (3, true)] {
            past.note(&outcome(number, done));
        }
        let told = serde_json::to_value(past.messages().collect::<Vec<_>>()).expect("JSON");
        let expected = serde_json::json!([
            {"peer": "0598f7b34b75adcb", "format": "v2", "sender": "0101010101010101",
             "text": "Who is there?", "time": 7, "own": false, "number": null,
             "to": 0, "done": 0, "failed": 0},
            {"peer": null, "format": null, "sender": "0202020202020202", "text": "Hello",
             "time": 8, "own": true, "number": 1, "to": 3, "done": 2, "failed": 1},
            {"peer": null, "format": null, "sender": "0202020202020202", "text": "Hello",
             "time": 8, "own": true, "number": 2, "to": 1, "done": 0, "failed": 1},
        ]);
        assert_eq!(told, expected);
    }

    #[test]
    fn it_is_bounded_by_number_and_by_size() {
        let mut past = RecentLog::default();
        for number in 0..500 {
            past.note(&heard(&number.to_string()));
        }
        let texts: Vec<&str> = past.messages().map(|it| it.text.as_str()).collect();
        assert_eq!(texts.len(), MESSAGES);
        assert_eq!((texts[0], texts[MESSAGES - 1]), ("300", "499"));
        for _ in 0..100 {
            past.note(&heard(&"x".repeat(65_536)));
        }
        let octets: usize = past.messages().map(|it| it.text.len()).sum();
        assert_eq!((octets, past.messages().count()), (OCTETS, 16));
        past.note(&heard(&"x".repeat(OCTETS + 1)));
        assert_eq!((past.messages().count(), past.octets), (0, 0));
        past.note(&heard("y"));
        assert_eq!((past.messages().count(), past.octets), (1, 1));
    }
}
