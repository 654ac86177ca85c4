//! What is remembered of what people were shown: one view that all have in common, and those that are somebody's own.
//!
//! What was built with somebody's login is kept for that one, at that client, or for nobody. Nothing is built here.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use contexture::Principal;

use super::catalogs::{Changed, View};
use crate::catalog::Alert;
use crate::upstream::lock;

/// People whose view is remembered.
const REMEMBERED: usize = 10_000;
/// Alerts that are remembered, so that each is told once.
const TOLD: usize = 10_000;

#[derive(Default)]
pub(super) struct Catalogs {
    state: Mutex<Known>,
    /// Counts the changes, so that what was built before one is not kept after it.
    generation: AtomicU64,
    told: Mutex<HashSet<Alert>>,
}

/// Somebody, at the client that they use, where it matters which it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Viewer {
    pub(super) principal: Principal,
    pub(super) client: String,
}

#[derive(Default)]
struct Known {
    shared: Option<Arc<View>>,
    /// The one before, whose names stay whose they were.
    last: Option<Arc<View>>,
    people: HashMap<Viewer, Person>,
    /// Somebody has seen a list since clients were last told of a change.
    seen: bool,
}

/// What is remembered of somebody.
#[derive(Default)]
struct Person {
    /// Servers, by name, at which they have a login of their own that this client may use.
    logins: Vec<String>,
    view: Option<Arc<View>>,
    last: Option<Arc<View>>,
}

impl Catalogs {
    /// What they see, if it is there.
    pub(super) fn known(&self, viewer: &Viewer, apart: bool) -> Option<Arc<View>> {
        let known = lock(&self.state);
        match known.people.get(viewer) {
            Some(person) if apart || !person.logins.is_empty() => person.view.clone(),
            None if apart => None,
            _ => known.shared.clone(),
        }
    }

    /// The same, unless it would have to be found out first where they have a login.
    pub(super) fn ready(&self, viewer: &Viewer, has_logins: bool, apart: bool) -> Option<Arc<View>> {
        let known = lock(&self.state);
        match known.people.get(viewer) {
            Some(person) if apart || !person.logins.is_empty() => person.view.clone(),
            None if apart || has_logins => None,
            _ => known.shared.clone(),
        }
    }

    pub(super) fn is_personal(&self, viewer: &Viewer, server: &str) -> bool {
        lock(&self.state)
            .people
            .get(viewer)
            .is_some_and(|person| person.logins.iter().any(|name| name == server))
    }

    /// How many changes there were so far: what is built from now on is of after them.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Nothing that was built is right any more. Says whether anybody has seen what is different now.
    pub(super) fn forget(&self, changed: Changed) -> bool {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let mut known = lock(&self.state);
        let Known { shared, last, people, .. } = &mut *known;
        step_back(shared, last);
        people.values_mut().for_each(|person| step_back(&mut person.view, &mut person.last));
        changed.is_some() && std::mem::take(&mut known.seen)
    }

    /// What they saw before.
    pub(super) fn last(&self, viewer: &Viewer) -> Option<Arc<View>> {
        let known = lock(&self.state);
        let own = known.people.get(viewer).filter(|person| !person.logins.is_empty());
        own.map_or(&known.last, |person| &person.last).clone()
    }

    /// Tells whoever runs us what is odd about what servers offer.
    pub(super) fn tell(&self, alerts: &[Alert]) {
        let mut told = lock(&self.told);
        if told.len() + alerts.len() > TOLD {
            told.clear();
        }
        for alert in alerts {
            if told.insert(alert.clone()) {
                let Alert { server, subject, detail, .. } = alert;
                tracing::warn!(server, kind = ?alert.kind, subject, "an odd offer: {detail}");
            }
        }
    }

    /// Somebody logged in or out, or agreed to a client: whichever they use, it is looked up again what it may use.
    pub(super) fn forget_person(&self, principal: &Principal) {
        lock(&self.state).people.retain(|viewer, _| viewer.principal != *principal);
    }

    pub(super) fn logins(&self, viewer: &Viewer) -> Option<Vec<String>> {
        lock(&self.state).people.get(viewer).map(|person| person.logins.clone())
    }

    pub(super) fn remember(&self, viewer: Viewer, logins: &[String]) {
        let mut known = lock(&self.state);
        if known.people.len() >= REMEMBERED {
            known.people.clear();
        }
        let person = Person { logins: logins.to_vec(), ..Person::default() };
        known.people.insert(viewer, person);
    }

    /// `personal` says that it was built with somebody's own logins, whatever is remembered of them by now.
    pub(super) fn keep(
        &self,
        viewer: &Viewer,
        view: &Arc<View>,
        generation: u64,
        apart: bool,
        personal: bool,
    ) {
        let mut known = lock(&self.state);
        known.seen = true;
        if self.generation() != generation {
            return;
        }
        if apart {
            // For names, which stay whose they were. Nobody is shown it.
            known.last = Some(Arc::clone(view));
        }
        match known.people.get_mut(viewer) {
            Some(person) if apart || !person.logins.is_empty() => person.view = Some(Arc::clone(view)),
            // They were forgotten meanwhile: it is still nobody else's.
            _ if apart || personal => {}
            _ => known.shared = Some(Arc::clone(view)),
        }
    }
}

/// What was seen is what was seen last.
fn step_back(view: &mut Option<Arc<View>>, last: &mut Option<Arc<View>>) {
    if let Some(view) = view.take() {
        *last = Some(view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn viewer(name: &str, client: &str) -> Viewer {
        Viewer { principal: Principal::new("https://issuer.example", name), client: client.to_owned() }
    }

    fn view() -> Arc<View> {
        Arc::new(View { catalog: Catalog::build(Vec::new()), servers: Vec::new(), partial: false })
    }

    /// Also if it is no longer known by the time that it is built whose it is: somebody logs in or out meanwhile.
    #[test]
    fn what_is_built_with_a_login_is_never_everybodys() {
        let catalogs = Catalogs::default();
        let (ada, ben) = (viewer("ada", "app"), viewer("ben", "app"));
        catalogs.remember(ada.clone(), &["notes".to_owned()]);
        let own = view();
        catalogs.keep(&ada, &own, catalogs.generation(), false, true);
        assert!(catalogs.known(&ada, false).is_some_and(|known| Arc::ptr_eq(&known, &own)));
        assert!(catalogs.known(&ben, false).is_none());
        catalogs.forget_person(&ada.principal);
        catalogs.keep(&ada, &own, catalogs.generation(), false, true);
        for who in [&ada, &ben] {
            assert!(catalogs.known(who, false).is_none(), "{who:?}");
        }
        let shared = view();
        catalogs.keep(&ben, &shared, catalogs.generation(), false, false);
        assert!(catalogs.known(&ada, false).is_some_and(|known| Arc::ptr_eq(&known, &shared)));
    }

    #[test]
    fn what_one_client_is_shown_is_not_anothers_and_a_change_concerns_all_of_them() {
        let catalogs = Catalogs::default();
        let (app, other, ben) = (viewer("ada", "app"), viewer("ada", "other"), viewer("ben", "app"));
        catalogs.remember(app.clone(), &["notes".to_owned()]);
        catalogs.remember(other.clone(), &[]);
        catalogs.remember(ben.clone(), &["notes".to_owned()]);
        assert!(catalogs.is_personal(&app, "notes") && !catalogs.is_personal(&other, "notes"));
        catalogs.keep(&app, &view(), catalogs.generation(), false, true);
        assert!(catalogs.known(&app, false).is_some() && catalogs.known(&other, false).is_none());
        catalogs.forget_person(&app.principal);
        assert_eq!((catalogs.logins(&app), catalogs.logins(&other)), (None, None));
        assert!(catalogs.logins(&ben).is_some());
    }
}
