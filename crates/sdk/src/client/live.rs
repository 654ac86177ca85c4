//! One live connection to a server. When nobody holds it any more, it is closed.

use std::sync::Arc;

use super::link::Link;
use super::session::Session;
use crate::{Error, Result};

pub(super) struct Live {
    pub(super) link: Arc<Link>,
}

impl Live {
    /// The server; there is one as soon as the handshake is done.
    pub(super) fn session(&self) -> Result<&Session> {
        self.link.session.get().ok_or_else(|| Error::Closed("the handshake is not done".into()))
    }

    /// Whether some of what a message says is said again in its headers.
    pub(super) fn mirrors(&self) -> bool {
        self.link.has_headers && self.session().is_ok_and(|session| session.rules.has_header_mirroring)
    }

    /// Ends the connection and waits until it and its process are gone.
    pub(super) async fn close(&self) {
        self.link.close();
        // An error means that the task is gone with its runtime.
        let _ = self.link.over.subscribe().wait_for(|over| *over).await;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.link.close();
    }
}
