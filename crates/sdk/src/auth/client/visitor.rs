//! How a person gets from this program to the authorization server and back.
//!
//! A visitor moves a person; it decides nothing about what the authorization server says. Where the way back leads
//! is known before the person leaves, because it has to be registered.

use std::pin::Pin;
use std::sync::Arc;

use super::browser::Browser;
use super::callback::{Callback, CallbackParams};
use crate::Result;

/// A future of a [`Visitor`].
pub type Visiting<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A way to the authorization server and back, for one person.
pub trait Visitor: Send + Sync + 'static {
    /// Gets the way back ready. `registered` is a redirect URI that the authorization server knows already, from an
    /// earlier login: if it can be had again, nothing needs to be registered anew.
    fn prepare<'a>(&'a self, registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>>;
}

/// One visit, whose way back is open.
pub trait Visit: Send + Sync + 'static {
    /// Where the authorization server is to send the person: https, or http on this machine.
    fn redirect_uri(&self) -> &str;

    /// Sends the person to this address and waits for what they bring back. It carries this `state`, or is somebody
    /// else's.
    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams>;
}

/// What is done with the address that a person has to visit.
pub(super) type Show = Arc<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// Shows the person an address, and listens on this machine for the way back.
pub(super) struct Local {
    pub(super) show: Show,
    /// The one port that is registered, if there is no choice.
    pub(super) port: Option<u16>,
}

impl Local {
    /// In the person's browser. Where there is none, it fails, and says so.
    pub(super) fn browser() -> Show {
        Arc::new(|url| Browser::new().open(url))
    }
}

impl Visitor for Local {
    fn prepare<'a>(&'a self, registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async move {
            let callback = Callback::bind_again(self.port, registered).await?;
            let visit: Box<dyn Visit> = Box::new(LocalVisit { show: Arc::clone(&self.show), callback });
            Ok(visit)
        })
    }
}

struct LocalVisit {
    show: Show,
    callback: Callback,
}

impl Visit for LocalVisit {
    fn redirect_uri(&self) -> &str {
        self.callback.redirect_uri()
    }

    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            (self.show)(url)?;
            self.callback.wait(state).await
        })
    }
}
