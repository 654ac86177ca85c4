//! Where a server is, and how to get there, again and again if need be.

use std::fmt;
use std::sync::Arc;

use super::config::Config;
use super::connection::Connection;
use super::hub::Hub;
use super::live::Live;
use crate::engine::Reach;
#[cfg(feature = "http-client")]
use crate::transport::http::{Address, Fetch, HttpTransport, open_pair};
use crate::transport::{ChildCommand, ChildExit, ChildTransport, PersonTime, Side, Tapped, Transport};
use crate::{Error, Result};

/// What a client connects to: the URL of a server, or a [`Transport`] that leads to one.
pub struct Target(pub(super) Source);

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}

impl<T: Transport> From<T> for Target {
    fn from(transport: T) -> Self {
        Self(Source::Given(Some(Box::new(transport))))
    }
}

/// A server that is started.
impl From<ChildCommand> for Target {
    fn from(command: ChildCommand) -> Self {
        Self(Source::Child(command))
    }
}

#[cfg(feature = "http-client")]
impl From<&str> for Target {
    fn from(url: &str) -> Self {
        Self(Source::Url(Place { url: url.to_owned(), way: None, is_older: false }))
    }
}

#[cfg(feature = "http-client")]
impl From<&String> for Target {
    fn from(url: &String) -> Self {
        url.as_str().into()
    }
}

#[cfg(feature = "http-client")]
impl From<String> for Target {
    fn from(url: String) -> Self {
        url.as_str().into()
    }
}

/// Where the server is.
pub(super) enum Source {
    /// At the other end of this.
    Given(Option<Box<dyn Transport>>),
    /// In a process that can be started, again and again.
    Child(ChildCommand),
    /// At a URL.
    #[cfg(feature = "http-client")]
    Url(Place),
}

/// A URL, and what was found out about it.
#[cfg(feature = "http-client")]
pub(super) struct Place {
    url: String,
    /// Kept, so that connections are used again.
    way: Option<(Address, Arc<Fetch>)>,
    /// HTTP+SSE is spoken there.
    is_older: bool,
}

impl Source {
    pub(super) fn reach(&self) -> Reach {
        match self {
            Self::Given(_) => Reach::Pipe,
            Self::Child(_) => Reach::Process,
            #[cfg(feature = "http-client")]
            Self::Url(_) => Reach::Http,
        }
    }

    pub(super) fn can_restart(&self) -> bool {
        self.reach() != Reach::Pipe
    }

    /// Over HTTP: the transport of the first revision was spoken with success, and is from here on.
    pub(super) fn keep_older_transport(&mut self) {
        #[cfg(feature = "http-client")]
        if let Self::Url(place) = self {
            place.is_older = true;
        }
    }

    /// Opens a way to the server; `older` is for HTTP, and means the transport of the first revision.
    pub(super) async fn open(&mut self, hub: &Arc<Hub>, older: bool) -> Result<Live> {
        let Opened { transport, exit, person } = self.transport(&hub.config, older).await?;
        Ok(Live { link: Connection::start(transport, exit, person, hub) })
    }

    /// The way alone; somebody may listen to it.
    pub(super) async fn transport(&mut self, config: &Config, older: bool) -> Result<Opened> {
        #[cfg(not(feature = "http-client"))]
        let _ = older;
        let mut opened = match self {
            Self::Given(transport) => {
                let transport = transport
                    .take()
                    .ok_or_else(|| Error::Closed("this transport cannot be opened again".into()))?;
                Opened { transport, exit: None, person: config.person.clone() }
            }
            Self::Child(command) => {
                let child = ChildTransport::spawn(command, &config.policy)?;
                Opened { exit: Some(child.exit()), transport: Box::new(child), person: config.person.clone() }
            }
            #[cfg(feature = "http-client")]
            Self::Url(place) => {
                let transport = Box::new(place.open(config, older).await?);
                // Whoever counts for the application counts logins, too.
                let logins = place.way.as_ref().map(|(_, fetch)| fetch.person().clone());
                let person = config.person.clone().or(logins);
                Opened { transport, exit: None, person }
            }
        };
        if let Some(taps) = &config.taps {
            opened.transport = Box::new(Tapped::boxed(opened.transport, Side::Client, taps()));
        }
        Ok(opened)
    }
}

/// A way to a server.
pub(super) struct Opened {
    pub(super) transport: Box<dyn Transport>,
    exit: Option<ChildExit>,
    person: Option<PersonTime>,
}

#[cfg(feature = "http-client")]
impl Place {
    async fn open(&mut self, config: &Config, older: bool) -> Result<HttpTransport> {
        let policy = &config.policy;
        let (address, fetch) = match &self.way {
            Some(way) => way.clone(),
            None => {
                let address = Address::parse(&self.url)?;
                if address.is_exposed() && config.http.unix_socket.is_none() {
                    tracing::warn!(%address, "not encrypted: others can read and change what is said");
                }
                let fetch = Arc::new(Fetch::new(&address, &config.http, policy)?);
                self.way.insert((address, fetch)).clone()
            }
        };
        if self.is_older || older {
            let time = policy.patience.idle.min(policy.patience.total);
            let person = fetch.person().clone();
            let opened = person.timeout(time, open_pair(fetch, address, policy)).await;
            let opened = opened.unwrap_or(Err(Error::Timeout(time)));
            // What refuses it now may speak something newer, which the next attempt will find out.
            self.is_older &= !matches!(opened, Err(Error::Http(_)));
            return opened;
        }
        Ok(HttpTransport::new(fetch, address, policy))
    }
}
