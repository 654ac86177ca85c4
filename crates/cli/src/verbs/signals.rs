//! The words by which a person or the system ends this program: SIGTERM, SIGHUP, Ctrl-C.

use tokio::sync::watch;

use crate::exit::Failure;

/// Ready when the person or the system wants this program to end.
pub(crate) async fn interrupted() {
    match Signals::listen() {
        Ok(mut signals) => signals.next().await,
        Err(_) => std::future::pending().await,
    }
}

/// Ready when the system wants this program to end: Ctrl-C is meant for something else.
pub(crate) async fn dismissed() {
    match Signals::listen() {
        Ok(mut signals) => signals.of_system().await,
        Err(_) => std::future::pending().await,
    }
}

/// How often we were told to end. It is listened for from the beginning: whoever has listened once hears a signal no other
/// way, so none may fall between two steps.
#[derive(Debug, Clone)]
pub(crate) struct Told(watch::Receiver<usize>);

impl Told {
    /// What verbs come to that are told to end: they were interrupted.
    pub(crate) fn fails() -> Result<(), Failure> {
        Err(Failure::interrupted())
    }

    /// What verbs come to that only end when they are told to.
    pub(crate) fn suffices() -> Result<(), Failure> {
        Ok(())
    }

    /// Begins to listen, on a task of the current runtime.
    pub(crate) fn listen() -> Self {
        let (count, told) = watch::channel(0);
        if let Ok(mut signals) = Signals::listen() {
            tokio::spawn(async move {
                loop {
                    signals.next().await;
                    count.send_modify(|times| *times += 1);
                }
            });
        }
        Self(told)
    }

    /// How many times so far.
    pub(crate) fn so_far(&self) -> usize {
        *self.0.borrow()
    }

    /// Ready when we were told so many times.
    pub(crate) async fn times(&self, wanted: usize) {
        if self.0.clone().wait_for(|times| *times >= wanted).await.is_err() {
            // Nobody can tell us.
            std::future::pending().await
        }
    }
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        let [terminate, hangup, interrupt] = kinds.map(signal);
        Ok(Self([terminate?, hangup?, interrupt?]))
    }

    async fn next(&mut self) {
        let [terminate, hangup, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
        }
    }

    async fn of_system(&mut self) {
        let [terminate, hangup, _] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }

    async fn of_system(&mut self) {
        std::future::pending().await
    }
}
