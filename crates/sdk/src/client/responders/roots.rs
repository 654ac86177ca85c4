//! The directories that a server may work in.
//!
//! The set is explicit: nothing is in it that was not added, and each client has its own. URIs are
//! checked when they are added; what may be shown is decided every time a server asks.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contexture_core::uri;
use futures_util::future::BoxFuture;
use tokio::sync::{OnceCell, watch};

use super::NoAnswer;
use crate::client::session::{ServerIdentity, Session};
use crate::model::{ListRootsResult, Root};
use crate::revision::Lower;
use crate::{Error, Result};

type Permit = Arc<dyn Fn(&Root) -> bool + Send + Sync>;
type Consent = Arc<dyn Fn(ServerIdentity) -> BoxFuture<'static, bool> + Send + Sync>;
type Provider = Arc<dyn Fn() -> BoxFuture<'static, std::result::Result<Vec<Root>, String>> + Send + Sync>;

/// A set of roots that can change while it is in use. Clones share the set.
#[derive(Clone)]
pub struct Roots {
    inner: Arc<Inner>,
    /// What was said about the one server that this clone is for.
    consented: Arc<OnceCell<bool>>,
}

struct Inner {
    set: Mutex<Vec<Root>>,
    hooks: Mutex<Hooks>,
    changes: watch::Sender<u64>,
}

#[derive(Clone, Default)]
struct Hooks {
    permit: Option<Permit>,
    consent: Option<Consent>,
    provider: Option<Provider>,
    check_access: bool,
}

impl Roots {
    /// An empty set.
    #[expect(clippy::new_without_default, reason = "an empty set of roots is a decision, not a default")]
    pub fn new() -> Self {
        let inner = Inner { set: Mutex::default(), hooks: Mutex::default(), changes: watch::Sender::new(0) };
        Self { inner: Arc::new(inner), consented: Arc::default() }
    }

    pub(in crate::client) fn for_one_server(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), consented: Arc::default() }
    }

    /// Adds a root while setting up.
    pub fn with(self, root: Root) -> Result<Self> {
        self.add(root)?;
        Ok(self)
    }

    /// Shows only roots that this permits.
    #[must_use]
    pub fn permit(self, permit: impl Fn(&Root) -> bool + Send + Sync + 'static) -> Self {
        self.hooks().permit = Some(Arc::new(permit));
        self
    }

    /// Asks, before a server sees roots for the first time, whether it may. If not, it sees none.
    #[must_use]
    pub fn consent<F>(self, consent: impl Fn(ServerIdentity) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.hooks().consent = Some(Arc::new(move |server| Box::pin(consent(server))));
        self
    }

    /// Adds what this names to the set whenever a server asks.
    #[must_use]
    pub fn provider<F>(self, provider: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = std::result::Result<Vec<Root>, String>> + Send + 'static,
    {
        self.hooks().provider = Some(Arc::new(move || Box::pin(provider())));
        self
    }

    /// Leaves out directories that do not exist or cannot be read.
    #[must_use]
    pub fn check_access(self) -> Self {
        self.hooks().check_access = true;
        self
    }

    /// Adds a root, and tells connected servers. `false` if it was there already.
    pub fn add(&self, root: Root) -> Result<bool> {
        uri::check_root(&root.uri)
            .map_err(|error| Error::Misuse(format!("{:?} cannot be a root: {error}", root.uri)))?;
        let mut set = self.set();
        if set.iter().any(|known| known.uri == root.uri) {
            return Ok(false);
        }
        set.push(root);
        drop(set);
        self.changed();
        Ok(true)
    }

    /// Removes a root, and tells connected servers. `false` if there was none.
    pub fn remove(&self, uri: &str) -> bool {
        let mut set = self.set();
        let before = set.len();
        set.retain(|root| root.uri != uri);
        let removed = set.len() < before;
        drop(set);
        if removed {
            self.changed();
        }
        removed
    }

    /// The set as it is.
    pub fn list(&self) -> Vec<Root> {
        self.set().clone()
    }

    /// Drops roots that are no longer there, and tells connected servers. Call it from whatever watches
    /// the file system. Returns what was dropped.
    pub fn refresh(&self) -> Vec<Root> {
        let mut set = self.set();
        let (kept, gone) = std::mem::take(&mut *set).into_iter().partition(|root| is_there(&root.uri));
        *set = kept;
        drop(set);
        if !gone.is_empty() {
            self.changed();
        }
        gone
    }

    /// Looks every so often whether the roots are still there, for as long as the set is in use. Must be
    /// called inside a tokio runtime.
    #[must_use]
    pub fn refresh_every(self, interval: Duration) -> Self {
        let (weak, consented) = (Arc::downgrade(&self.inner), Arc::clone(&self.consented));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(inner) = weak.upgrade() else { return };
                Self { inner, consented: Arc::clone(&consented) }.refresh();
            }
        });
        self
    }

    /// Tells connected servers that the set changed, when a provider knows that it did.
    pub fn changed(&self) {
        self.inner.changes.send_modify(|generation| *generation += 1);
    }

    pub(in crate::client) fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    pub(super) async fn answer(&self, session: &Session) -> std::result::Result<ListRootsResult, NoAnswer> {
        let hooks = self.hooks().clone();
        if let Some(consent) = &hooks.consent {
            let asked = self.consented.get_or_init(|| consent(session.server.clone()));
            if !*asked.await {
                return Ok(ListRootsResult::default());
            }
        }
        let mut roots = self.list();
        if let Some(provider) = &hooks.provider {
            let more = provider().await.map_err(NoAnswer::Failed)?;
            if let Some(bad) = more.iter().find(|root| uri::check_root(&root.uri).is_err()) {
                return Err(NoAnswer::Failed(format!("{:?} cannot be a root", bad.uri)));
            }
            roots.extend(more);
        }
        if let Some(permit) = &hooks.permit {
            roots.retain(|root| permit(root));
        }
        if hooks.check_access {
            roots.retain(|root| is_there(&root.uri));
        }
        let mut result = ListRootsResult { roots: roots.into(), meta: None };
        result.lower(session.rules);
        Ok(result)
    }

    fn set(&self) -> MutexGuard<'_, Vec<Root>> {
        self.inner.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hooks(&self) -> MutexGuard<'_, Hooks> {
        self.inner.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a file URI names something that can be read.
fn is_there(uri: &str) -> bool {
    let Some(path) = uri.strip_prefix("file://") else { return false };
    let decoded = uri::percent_decode(path);
    let Ok(path) = std::str::from_utf8(&decoded) else { return false };
    std::fs::metadata(path).is_ok()
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Roots").field(&*self.set()).finish()
    }
}
