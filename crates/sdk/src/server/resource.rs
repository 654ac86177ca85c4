//! Resources: fixed ones and templates, and the way from a URI to contents.
//!
//! A URI is checked before anything is looked up, and a template never hands out a value that climbs out
//! of its place. Nothing here opens a file.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Display;
use std::sync::Arc;

use contexture_core::uri_template::{Captures, Matcher, TemplateValue, UriTemplate};
use futures_util::FutureExt;

use super::Context;
use super::completeness::Needs;
use super::extract::{Arguments, Call, Handler, Rejection};
use super::gate::Gate;
use super::operation::{BoxFuture, OperationResult, Reply};
use super::output::Failure;
use crate::model::{
    Annotations, ErrorObject, Icon, Meta, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use crate::{Error, Result};

type ReadOutcome = std::result::Result<ReadResourceResult, Failure>;
type Begin = dyn Fn(&Call<'_>, &str, Option<&str>) -> std::result::Result<BoxFuture<ReadOutcome>, Rejection>
    + Send
    + Sync;

/// Begins the definition of a resource: a URI, or a URI template (RFC 6570) for many.
///
/// Use `https:` only for what clients can fetch from the web by themselves, and a scheme of your own for
/// everything else.
pub fn resource(uri: impl Into<String>) -> ResourceBuilder {
    let uri = uri.into();
    ResourceBuilder { resource: Resource::new(uri.clone(), uri), gate: Gate::default() }
}

/// A resource that still lacks its contents.
#[derive(Debug)]
pub struct ResourceBuilder {
    resource: Resource,
    gate: Gate,
}

/// A complete resource or template.
#[derive(Clone)]
pub struct ResourceEntry {
    pub(super) definition: Definition,
    begin: Arc<Begin>,
    pub(super) needs: Needs,
    pub(super) gate: Gate,
}

#[derive(Debug, Clone)]
pub(super) enum Definition {
    Fixed(Arc<Resource>),
    Template(Arc<ResourceTemplate>, Option<Arc<Matcher>>),
}

/// Anything that can be registered as a resource: an entry, or a function that makes one. `#[resource]` turns a
/// function into the latter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "not a resource",
    note = "put `#[resource(\"…\")]` on the function, or build a resource of it: `resource(\"uri\").handler(…)`"
)]
pub trait IntoResource {
    /// The complete resource.
    fn into_resource(self) -> ResourceEntry;
}

impl IntoResource for ResourceEntry {
    fn into_resource(self) -> ResourceEntry {
        self
    }
}

// Whatever else is registered by mistake should be told about attributes, not about functions of nothing.
#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> T, T: IntoResource> IntoResource for F {
    fn into_resource(self) -> ResourceEntry {
        self().into_resource()
    }
}

/// A value that a resource can return.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    note = "resources return `String` for text, `Vec<u8>` for anything else, `ResourceContents`, \
            `ReadResourceResult`, or `Result` of these"
)]
pub trait IntoContents {
    /// The contents, for the URI that was read and the media type that was declared.
    ///
    /// # Errors
    /// When reading failed.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> ReadOutcome;
}

impl IntoContents for ReadResourceResult {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> ReadOutcome {
        Ok(self)
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> ReadOutcome {
        Ok(ReadResourceResult::new(self))
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> ReadOutcome {
        Ok(ReadResourceResult::new(vec![self]))
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> ReadOutcome {
        typed(ResourceContents::text(uri, self), mime_type.or(Some("text/plain")))
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> ReadOutcome {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> ReadOutcome {
        typed(ResourceContents::blob(uri, self), mime_type)
    }
}

impl<T: IntoContents, E: Display + 'static> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> ReadOutcome {
        self.map_err(Failure::from_error)?.into_contents(uri, mime_type)
    }
}

fn typed(contents: ResourceContents, mime_type: Option<&str>) -> ReadOutcome {
    let contents = match mime_type {
        Some(mime_type) => contents.mime_type(mime_type),
        None => contents,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

macro_rules! described {
    ($($(#[$doc:meta])* $field:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$kind>) -> Self {
            self.resource.$field = Some($field.into());
            self
        })+
    };
}

impl ResourceBuilder {
    /// The name that programs use; without it, the URI.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.resource.name = name.into();
        self
    }

    described! {
        /// A name for people.
        title: String,
        /// What it is.
        description: String,
        /// Pictures of it.
        icons: Vec<Icon>,
        /// Its media type. For a template, only if all that it matches have the same.
        mime_type: String,
        /// Its raw size in bytes.
        size: u64,
        /// For whom it is, and how much it matters.
        annotations: Annotations,
        /// Metadata.
        meta: Meta,
    }

    /// A scope that callers must have been granted; all of them, if there are several. Decided before the handler
    /// runs. It limits only callers who come with [scopes](super::Principal::scopes), as those of a
    /// protected server do.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.gate.add(scope.into());
        self
    }

    /// Text that does not change.
    pub fn text(mut self, text: impl Into<String>) -> ResourceEntry {
        let text = text.into();
        self.resource.size = Some(text.len() as u64);
        let text: Arc<str> = text.into();
        self.handler(move || std::future::ready(text.to_string()))
    }

    /// Bytes that do not change.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> ResourceEntry {
        let bytes = bytes.into();
        self.resource.size = Some(bytes.len() as u64);
        let bytes: Arc<[u8]> = bytes.into();
        self.handler(move || std::future::ready(bytes.to_vec()))
    }

    /// The handler: an async function of extractors. The variables of a template are its arguments.
    pub fn handler<P, R, H>(self, handler: H) -> ResourceEntry
    where
        H: Handler<P, R>,
        R: IntoContents + 'static,
        P: 'static,
    {
        let needs = handler.needs().into();
        let begin = move |call: &Call<'_>,
                          uri: &str,
                          mime_type: Option<&str>|
              -> std::result::Result<BoxFuture<ReadOutcome>, Rejection> {
            let (uri, mime_type) = (uri.to_owned(), mime_type.map(str::to_owned));
            handler.begin(call, move |contents: R| contents.into_contents(&uri, mime_type.as_deref()))
        };
        let definition = if self.resource.uri.contains('{') {
            let matcher = UriTemplate::parse(&self.resource.uri).and_then(|template| template.matcher());
            Definition::Template(Arc::new(into_template(self.resource)), matcher.ok().map(Arc::new))
        } else {
            Definition::Fixed(Arc::new(self.resource))
        };
        ResourceEntry { definition, begin: Arc::new(begin), needs, gate: self.gate }
    }
}

fn into_template(resource: Resource) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(resource.uri, resource.name);
    template.title = resource.title;
    template.description = resource.description;
    template.icons = resource.icons;
    template.mime_type = resource.mime_type;
    template.annotations = resource.annotations;
    template.meta = resource.meta;
    template
}

impl ResourceEntry {
    /// The URI or the URI template.
    pub(super) fn uri(&self) -> &str {
        match &self.definition {
            Definition::Fixed(resource) => &resource.uri,
            Definition::Template(template, _) => &template.uri_template,
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        self.gate.validate(self.uri())?;
        let wrong = |error: &dyn Display| Error::Misuse(format!("resource {:?}: {error}", self.uri()));
        match &self.definition {
            Definition::Fixed(resource) => {
                contexture_core::uri::check(&resource.uri).map_err(|error| wrong(&error))
            }
            Definition::Template(template, _) => {
                let parsed = UriTemplate::parse(&template.uri_template).map_err(|error| wrong(&error))?;
                parsed.matcher().map(drop).map_err(|error| wrong(&error))
            }
        }
    }

    /// The variables, if this is a template that makes the URI.
    pub(super) fn captures(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        match &self.definition {
            Definition::Template(_, Some(matcher)) => matcher.matches(uri).map(into_strings),
            _ => None,
        }
    }

    pub(super) fn read(
        &self,
        context: &Context,
        uri: &str,
        variables: &BTreeMap<String, String>,
    ) -> BoxFuture<OperationResult> {
        if let Err(error) = self.gate.check(context.principal()) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let rules = context.rules();
        let mime_type = match &self.definition {
            Definition::Fixed(resource) => resource.mime_type.as_deref(),
            Definition::Template(template, _) => template.mime_type.as_deref(),
        };
        let call = Call { context, arguments: Arguments::Strings(variables), uri: Some(uri) };
        let owned_uri = uri.to_owned();
        match (self.begin)(&call, uri, mime_type) {
            Ok(work) => Box::pin(work.map(move |outcome| match outcome {
                Ok(result) => Ok(Reply::Resource(result)),
                Err(Failure::NotFound) => {
                    Err(ErrorObject::resource_not_found(rules.not_found_code, &owned_uri))
                }
                Err(failure) => Err(failure.into_protocol_error(rules)),
            })),
            // A URI whose variables do not fit names nothing.
            Err(Rejection::Arguments(_)) => {
                Box::pin(std::future::ready(Err(ErrorObject::resource_not_found(rules.not_found_code, uri))))
            }
            Err(Rejection::Other(error)) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

fn into_strings(captures: Captures) -> BTreeMap<String, String> {
    let text = |value| match value {
        TemplateValue::Text(text) => text,
        TemplateValue::List(items) => items.join(","),
        TemplateValue::Pairs(pairs) => {
            pairs.into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(",")
        }
    };
    captures.into_iter().map(|(name, value)| (name, text(value))).collect()
}

impl fmt::Debug for ResourceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceEntry({:?})", self.uri())
    }
}
