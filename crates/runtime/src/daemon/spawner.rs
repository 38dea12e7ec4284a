//! Reserves a thread that later starts other threads. The reserved thread keeps the file rights
//! that weir began with, and has no capability. Threads started from it confine themselves, even to
//! a folder that was mounted or created later.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

use super::privileges;

/// Work for the reserved thread.
type Task = Box<dyn FnOnce() + Send>;

/// A reserved thread. The thread ends when this value is dropped, or when its work has ended.
#[derive(Debug)]
pub struct Spawner(SyncSender<Task>);

impl Spawner {
    /// Reserves a thread. Must be called before files are out of reach.
    ///
    /// # Errors
    /// The kernel cannot create a thread.
    pub fn begin(name: &str) -> io::Result<Self> {
        let (give, given) = sync_channel::<Task>(1);
        let thread = Builder::new().name(name.to_owned()).stack_size(128 << 10);
        thread.spawn(move || {
            privileges::drop_to(&[]);
            if let Ok(task) = given.recv() {
                task();
            }
        })?;
        Ok(Self(give))
    }

    /// Runs work on the reserved thread.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn run(self, task: Task) -> io::Result<()> {
        self.0
            .send(task)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use caps::CapSet;

    use super::*;

    #[test]
    fn what_runs_there_has_no_capability() {
        let nest = Spawner::begin("a test").expect("a thread");
        let (tell, told) = channel();
        let task = move || {
            let kept = caps::read(None, CapSet::Permitted).expect("own capabilities");
            tell.send(kept.len()).expect("somebody waits");
        };
        nest.run(Box::new(task)).expect("it waits");
        assert_eq!(told.recv().expect("it ran"), 0);
    }
}
