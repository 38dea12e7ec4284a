//! The loop in a terminal: waits for an event, hands it to the model, draws.

use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;

use cli::screen::{Screen, Use, signals};
use ratatui::crossterm::event;

use super::clock::{clock, now};
use super::event::{AHEAD, Event};
use super::input::Edit;
use super::keys::Key;
use super::link::{self, EventSender};
use super::model::{Action, Chat};
use super::view::{self, TerminalStyle};
use crate::daemon::Say;

/// Runs the chat until the user quits.
///
/// # Errors
/// The terminal cannot be taken over, or written to.
pub fn run(socket: &Path, look: TerminalStyle) -> io::Result<()> {
    let (events, happening) = sync_channel(AHEAD);
    let (requests, asked) = channel();
    // Before other threads are started: they inherit that signals are waited for.
    let stops = events.clone();
    signals(move || drop(stops.send(Event::Stop)))?;
    let mut screen = Screen::enter(Use::Write)?;
    link::hear(socket.to_owned(), events.clone());
    link::speak(socket.to_owned(), asked, events.clone());
    keys(events);

    let mut chat = Chat::default();
    let mut page = 1;
    loop {
        screen.terminal().draw(|frame| {
            page = usize::from(frame.area().height).saturating_sub(3).max(1);
            view::draw(&mut chat, look, &clock, frame);
        })?;
        let Ok(event) = happening.recv() else {
            return Ok(());
        };
        let mut next = Some(event);
        // Handle all pending events before drawing: a key held down must not run ahead of the
        // screen.
        while let Some(event) = next {
            match event {
                Event::Stop => return Ok(()),
                Event::Panicked => return Err(io::Error::other("sending failed in part")),
                Event::Resized | Event::Line(_) => {}
                Event::Told(told) => chat.told(told, now()),
                Event::Pasted(text) => chat.input.put(&text),
                Event::Key(key) => match pressed(&mut chat, key, page) {
                    Some(Action::Quit) => return Ok(()),
                    Some(Action::Say(to, text)) => {
                        // The receiver ends only after reporting its end.
                        let _ = requests.send(Say { to, text });
                    }
                    None if key == Key::Redraw => screen.terminal().clear()?,
                    None => {}
                },
            }
            next = happening.try_recv().ok();
        }
    }
}

fn pressed(chat: &mut Chat, key: Key, page: usize) -> Option<Action> {
    match key {
        Key::Char(letter) => chat.input.put(letter.encode_utf8(&mut [0; 4])),
        Key::Edit(edit) => chat.input.edit(edit),
        Key::Enter => return chat.enter(now()),
        Key::PageUp => chat.scrolled += page,
        Key::PageDown => chat.scrolled = chat.scrolled.saturating_sub(page),
        Key::Interrupt => return Some(Action::Quit),
        Key::End if chat.input.text().is_empty() => return Some(Action::Quit),
        Key::End => chat.input.edit(Edit::Delete),
        Key::Redraw => {}
    }
    None
}

/// Reads keys in a thread that ends with the process, or with the terminal.
fn keys(events: SyncSender<Event>) {
    let teller = EventSender(events);
    thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Key::of(key).map(Event::Key),
                Ok(event::Event::Paste(text)) => Some(Event::Pasted(text)),
                Ok(event::Event::Resize(..)) => Some(Event::Resized),
                Ok(_) => None,
                Err(_) => Some(Event::Stop),
            };
            let ends = matches!(event, Some(Event::Stop));
            if event.is_some_and(|event| teller.0.send(event).is_err()) || ends {
                return;
            }
        }
    });
}
