//! Introductions and capabilities. A capability that the revision does not have is not claimed.

use super::{Lower, keep, stamp, stamp_cache};
use crate::model::{
    ClientCapabilities, DiscoverResult, ElicitationCapability, Implementation, InitializeParams,
    InitializeResult, ServerCapabilities,
};
use crate::revision::{ElicitationForms, Rules};

impl Lower for Implementation {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.title, rules.has_titles);
        keep(&mut self.icons, rules.has_icons);
        keep(&mut self.description, rules.has_icons);
        keep(&mut self.website_url, rules.has_icons);
    }
}

impl Lower for InitializeParams {
    fn lower(&mut self, rules: &Rules) {
        self.capabilities.lower(rules);
        self.client_info.lower(rules);
    }
}

impl Lower for InitializeResult {
    fn lower(&mut self, rules: &Rules) {
        self.capabilities.lower(rules);
        self.server_info.lower(rules);
    }
}

impl Lower for DiscoverResult {
    fn lower(&mut self, rules: &Rules) {
        self.capabilities.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for ClientCapabilities {
    fn lower(&mut self, rules: &Rules) {
        if let Some(roots) = &mut self.roots {
            keep(&mut roots.list_changed, rules.has_roots_list_changed);
        }
        if let Some(sampling) = &mut self.sampling {
            keep(&mut sampling.tools, rules.has_sampling_tools);
            keep(&mut sampling.context, rules.has_sampling_tools);
        }
        self.elicitation =
            self.elicitation.take().and_then(|elicitation| lower_elicitation(elicitation, rules));
        keep(&mut self.tasks, rules.has_core_tasks);
        keep(&mut self.extensions, rules.has_extensions);
    }
}

/// Without modes there are only forms, so a client that can only open URLs has nothing to claim.
fn lower_elicitation(mut elicitation: ElicitationCapability, rules: &Rules) -> Option<ElicitationCapability> {
    let has_forms = elicitation.has_form() && rules.elicitation != ElicitationForms::Absent;
    if rules.has_url_elicitation {
        return Some(elicitation);
    }
    elicitation.form = None;
    elicitation.url = None;
    has_forms.then_some(elicitation)
}

impl Lower for ServerCapabilities {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.completions, rules.has_completions_capability);
        keep(&mut self.tasks, rules.has_core_tasks);
        keep(&mut self.extensions, rules.has_extensions);
    }
}
