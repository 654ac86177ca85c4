//! What is left: notifications, plain parameters and results, input rounds, tasks and errors.

use super::{Lower, keep, remove, stamp};
use crate::model::{
    CancelledParams, CreateTaskResult, ElicitationCompleteParams, EmptyParams, EmptyResult, ErrorObject,
    InputRequest, InputRequiredResult, ListTasksResult, LoggingMessageParams, Meta, PaginatedParams,
    ProgressParams, SetLevelParams, SubscribeParams, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams, SubscriptionsListenResult, TaskParams, TaskResult, code, key,
};
use crate::revision::Rules;

/// A notification names its subscription only where there are subscriptions.
fn lower_meta(meta: &mut Option<Meta>, rules: &Rules) {
    if !rules.has_listen {
        remove(meta, key::SUBSCRIPTION_ID);
    }
}

macro_rules! lower_only_meta {
    ($($kind:ty),+ $(,)?) => {
        $(impl Lower for $kind {
            fn lower(&mut self, rules: &Rules) {
                lower_meta(&mut self.meta, rules);
            }
        })+
    };
}

lower_only_meta! {
    CancelledParams,
    CreateTaskResult,
    ElicitationCompleteParams,
    EmptyParams,
    ListTasksResult,
    LoggingMessageParams,
    PaginatedParams,
    SetLevelParams,
    SubscribeParams,
    SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams,
    TaskParams,
    TaskResult,
}

impl Lower for ProgressParams {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.message, rules.has_progress_message);
        lower_meta(&mut self.meta, rules);
    }
}

impl Lower for EmptyResult {
    fn lower(&mut self, rules: &Rules) {
        stamp(&mut self.result_type, &mut self.meta, rules);
    }
}

impl Lower for SubscriptionsListenResult {
    fn lower(&mut self, rules: &Rules) {
        stamp(&mut self.result_type, &mut self.meta, rules);
    }
}

impl Lower for InputRequiredResult {
    fn lower(&mut self, rules: &Rules) {
        for request in self.input_requests.iter_mut().flat_map(|requests| requests.values_mut()) {
            request.lower(rules);
        }
    }
}

impl Lower for InputRequest {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::Elicit(params) => params.lower(rules),
            Self::CreateMessage(params) => params.lower(rules),
            Self::ListRoots(params) => params.lower(rules),
        }
    }
}

/// Codes that a revision does not have become those that it would use.
impl Lower for ErrorObject {
    fn lower(&mut self, rules: &Rules) {
        match self.code {
            code::RESOURCE_NOT_FOUND => self.code = rules.not_found_code,
            code::URL_ELICITATION_REQUIRED if !rules.has_url_required_error => {
                self.code = code::INTERNAL_ERROR
            }
            _ => {}
        }
    }
}
