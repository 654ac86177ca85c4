//! What a person types in answer to a question.
//!
//! Whoever asked may leave before there is an answer. Then nobody waits for the keyboard any more: what is typed next is for
//! whoever comes next, and not for a question that is gone.

use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many questions are gone.
static GONE: AtomicUsize = AtomicUsize::new(0);

/// How many wait for keys.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// How soon is seen that a question is gone.
const GLANCE: Duration = Duration::from_millis(50);

/// The question that is open is gone, if there is one.
pub(crate) fn leave() {
    GONE.fetch_add(1, Ordering::AcqRel);
}

/// The same, and waits until the keyboard is free.
pub(crate) async fn free() {
    leave();
    while cfg!(unix) && OPEN.load(Ordering::Acquire) > 0 {
        tokio::time::sleep(GLANCE / 5).await;
    }
}

/// For one question. It ends when the question is gone, as if the person had.
pub(super) struct Keyboard {
    gone: usize,
}

impl Keyboard {
    /// For the question that is asked now.
    pub(super) fn open() -> BufReader<Self> {
        OPEN.fetch_add(1, Ordering::AcqRel);
        BufReader::new(Self { gone: GONE.load(Ordering::Acquire) })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(unix)]
impl Read for Keyboard {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
        let keys = io::stdin();
        loop {
            let typed = match poll(&mut [PollFd::new(&keys, PollFlags::IN)], Some(&glance)) {
                Ok(typed) => typed > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            };
            // First: what was typed since is not for us.
            if GONE.load(Ordering::Acquire) != self.gone {
                return Ok(0);
            }
            if typed {
                return Ok(rustix::io::read(&keys, into)?);
            }
        }
    }
}

#[cfg(not(unix))]
impl Read for Keyboard {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if GONE.load(Ordering::Acquire) == self.gone { io::stdin().lock().read(into) } else { Ok(0) }
    }
}
