//! A thread that begins others: with the rights over files that weir began with, no capability, and
//! nothing to do but that. What is begun there confines itself; so it can be confined anew, to a
//! folder that was mounted or made only later.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

use super::privileges;

/// Work for such a thread.
type Task = Box<dyn FnOnce() + Send>;

/// Waits for what it is to run. It ends when this is gone, or that has ended.
#[derive(Debug)]
pub struct Spawner(SyncSender<Task>);

impl Spawner {
    /// Begins it: before files are out of reach.
    ///
    /// # Errors
    /// The kernel gives no thread.
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

    /// Runs this there.
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
