//! The loop: waits for an event, hands it to the state, draws.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use cli::screen::{Screen, Use, signals};
use ratatui::crossterm::event;

use super::events::{Event, PanicReporter};
use super::keys::Key;
use super::state::{Action, State};
use super::{poll, view};
use runtime::output::Charset;

/// Runs the display until the user quits.
///
/// # Errors
/// The terminal cannot be taken over, or written to.
pub fn run(socket: PathBuf, charset: Charset, colour: bool) -> io::Result<()> {
    let (events, happening) = channel();
    let (requests, asked) = channel();
    let stops = events.clone();
    signals(move || drop(stops.send(Event::Stop)))?;
    let mut screen = Screen::enter(Use::Look)?;
    poll::start(socket, asked, events.clone());
    keys(events);

    let begin = Instant::now();
    let mut state = State::new(charset, colour);
    loop {
        if let Some(request) = state.tick(begin.elapsed()) {
            // The receiver ends only after it has reported so.
            let _ = requests.send(request);
        }
        screen.terminal().draw(|frame| {
            let area = frame.area();
            view::draw(&mut state, begin.elapsed(), area, frame.buffer_mut());
        })?;
        let mut next = match happening.recv_timeout(state.patience(begin.elapsed())) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // Handles all pending events before drawing: a key held down must not run ahead of the
        // screen.
        while let Some(event) = next {
            match event {
                Event::Stop => return Ok(()),
                Event::Panicked => return Err(io::Error::other("a part of `weir top` failed")),
                Event::Resized => {}
                Event::Answer(answer) => state.answer(*answer, begin.elapsed()),
                Event::Key(key) => match state.key(key, begin.elapsed()) {
                    Some(Action::Quit) => return Ok(()),
                    Some(Action::Redraw) => screen.terminal().clear()?,
                    None => {}
                },
            }
            next = happening.try_recv().ok();
        }
    }
}

/// Reads keys in a thread that ends with the process, or with the terminal.
fn keys(events: Sender<Event>) {
    let told = PanicReporter(events);
    thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Key::of(key).map(Event::Key),
                Ok(event::Event::Resize(..)) => Some(Event::Resized),
                Ok(_) => None,
                Err(_) => Some(Event::Stop),
            };
            let ends = matches!(event, Some(Event::Stop));
            if event.is_some_and(|event| told.0.send(event).is_err()) || ends {
                return;
            }
        }
    });
}
