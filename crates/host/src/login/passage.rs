//! The way of a person to an authorization server and back, seen from the program that waits for them.
//!
//! Either they come back to the gateway's own address, in the browser that they left in, or to a listener on this machine.
//! Nothing is decided here about what they bring.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contexture::auth::{Callback, CallbackParams, Visit, Visiting, Visitor};
use contexture::{Error, Result};
use tokio::sync::oneshot;

/// How long a person may be away.
pub(super) const AWAY: Duration = Duration::from_secs(5 * 60);

/// A person can set out.
pub(super) struct Departure {
    /// Where to.
    pub(super) url: String,
    /// What they have to come back with.
    pub(super) state: String,
    /// Takes what they bring.
    pub(super) back: oneshot::Sender<CallbackParams>,
}

type Gate<T> = Mutex<Option<oneshot::Sender<T>>>;

fn through<T>(gate: &Gate<T>) -> Result<oneshot::Sender<T>> {
    let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
    gate.take().ok_or_else(|| Error::Misuse("a login sends a person away once".into()))
}

fn nobody<T>(_: T) -> Error {
    Error::Closed("nobody waits for this login any more".into())
}

/// Back to an address of the gateway.
pub(super) struct Passage {
    redirect: String,
    gate: Gate<Departure>,
}

impl Passage {
    pub(super) fn new(redirect: String) -> (Self, oneshot::Receiver<Departure>) {
        let (gate, departures) = oneshot::channel();
        (Self { redirect, gate: Mutex::new(Some(gate)) }, departures)
    }
}

impl Visitor for Passage {
    fn prepare<'a>(&'a self, _registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async move {
            let gate = through(&self.gate)?;
            let visit: Box<dyn Visit> = Box::new(Ticket { redirect: self.redirect.clone(), gate });
            Ok(visit)
        })
    }
}

struct Ticket {
    redirect: String,
    gate: oneshot::Sender<Departure>,
}

impl Visit for Ticket {
    fn redirect_uri(&self) -> &str {
        &self.redirect
    }

    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            let (back, brought) = oneshot::channel();
            let departure = Departure { url: url.to_owned(), state: state.to_owned(), back };
            self.gate.send(departure).map_err(nobody)?;
            match tokio::time::timeout(AWAY, brought).await {
                Ok(brought) => brought.map_err(nobody),
                Err(_) => Err(Error::Timeout(AWAY)),
            }
        })
    }
}

/// Back to a listener on this machine.
pub(super) struct Trip {
    port: Option<u16>,
    gate: Gate<String>,
}

impl Trip {
    pub(super) fn new(port: Option<u16>) -> (Self, oneshot::Receiver<String>) {
        let (gate, departures) = oneshot::channel();
        (Self { port, gate: Mutex::new(Some(gate)) }, departures)
    }
}

impl Visitor for Trip {
    fn prepare<'a>(&'a self, registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async move {
            let callback = Callback::bind_again(self.port, registered).await?.patience(AWAY);
            let visit: Box<dyn Visit> = Box::new(Return { callback, gate: through(&self.gate)? });
            Ok(visit)
        })
    }
}

struct Return {
    callback: Callback,
    gate: oneshot::Sender<String>,
}

impl Visit for Return {
    fn redirect_uri(&self) -> &str {
        self.callback.redirect_uri()
    }

    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            self.gate.send(url.to_owned()).map_err(nobody)?;
            self.callback.wait(state).await
        })
    }
}
