//! What one server offers, gathered from the pages of its lists.
//!
//! Each definition is kept as the server wrote it, beside the decoded one: our types know what the specification knows,
//! and a gateway must not lose the rest. What does not decode is left out, so that one server's mistake does not cost
//! clients the whole list; so is what goes beyond the bounds. Nothing is renamed here.

use std::borrow::Cow;
use std::sync::Arc;

use contexture::json_rpc::{Members, string_text};
use contexture::model::{Cursor, Method, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool};
use contexture::revision::{Lower, Revision};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::alert::{AlertKind, Remarks};
use super::{pin, text};

/// The largest definition.
pub const DEFINITION_BYTES: usize = 1024 * 1024;
/// The most that all definitions of one server may have together.
pub const OFFER_BYTES: usize = 32 * 1024 * 1024;
/// The most pages of one list.
const PAGES: usize = 2_000;

/// One definition, decoded and as it was written.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// What we understand of it.
    pub definition: Arc<T>,
    /// A digest of what it says and demands.
    pub(super) pin: [u8; 32],
    pub(super) text: Arc<str>,
}

/// What a list has: tools, prompts, resources, templates.
pub(super) trait Item: DeserializeOwned + Serialize + Lower + Clone {
    /// The member of a list's result that has them.
    const MEMBER: &'static str;
    /// The most of them that one server may have.
    const MOST: usize;
    /// The member that identifies one.
    const KEY: &'static str;
    /// The members that its digest is made of.
    const PINNED: &'static [&'static str];

    /// What identifies it.
    fn key(&self) -> &str;

    /// Where offers keep them.
    fn shelf(offer: &mut Offer) -> &mut Gathered<Self>;

    /// Adds what the specification demands and a server may have forgotten without meaning anything else by it.
    fn mend(&mut self) {}

    /// Refuses what would cost a careful client the whole list.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The items of one list so far.
#[derive(Debug, Clone)]
pub(super) struct Gathered<T> {
    items: Vec<Listed<T>>,
    pages: usize,
    cursor: Option<Cursor>,
    full: bool,
}

impl<T> Gathered<T> {
    fn differs(&self, other: &Self) -> bool {
        let texts = |gathered: &Self| {
            gathered.items.iter().map(|listed| Arc::clone(&listed.text)).collect::<Vec<_>>()
        };
        texts(self) != texts(other)
    }
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self { items: Vec::new(), pages: 0, cursor: None, full: false }
    }
}

/// What one server offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The revision that its definitions are written in.
    pub revision: Revision,
    /// What it declared.
    pub capabilities: ServerCapabilities,
    /// What it says about itself to models.
    pub instructions: Option<String>,
    tools: Gathered<Tool>,
    prompts: Gathered<Prompt>,
    resources: Gathered<Resource>,
    templates: Gathered<ResourceTemplate>,
    bytes: usize,
    pub(super) remarks: Remarks,
}

impl Offer {
    /// An offer in which nothing is yet.
    pub fn new(revision: Revision, capabilities: ServerCapabilities, instructions: Option<String>) -> Self {
        Self {
            revision,
            capabilities,
            instructions,
            tools: Gathered::default(),
            prompts: Gathered::default(),
            resources: Gathered::default(),
            templates: Gathered::default(),
            bytes: 0,
            remarks: Remarks::default(),
        }
    }

    /// Takes up one page of a list (`tools/list`, `prompts/list`, `resources/list` or `resources/templates/list`): the
    /// result as it came. Says where to go on, if there is more and room for it.
    ///
    /// # Errors
    /// When this is not a page of that list.
    pub fn take(&mut self, list: Method, result: &[u8]) -> Result<Option<Cursor>, String> {
        match list {
            Method::ToolsList => self.take_page::<Tool>(result),
            Method::PromptsList => self.take_page::<Prompt>(result),
            Method::ResourcesList => self.take_page::<Resource>(result),
            Method::ResourcesTemplatesList => self.take_page::<ResourceTemplate>(result),
            other => Err(format!("{other} is not a list that a catalog has")),
        }
    }

    /// Its tools, in its order.
    pub fn tools(&self) -> &[Listed<Tool>] {
        &self.tools.items
    }

    /// Its prompts, in its order.
    pub fn prompts(&self) -> &[Listed<Prompt>] {
        &self.prompts.items
    }

    /// Its resources, in its order.
    pub fn resources(&self) -> &[Listed<Resource>] {
        &self.resources.items
    }

    /// Its templates, in its order.
    pub fn templates(&self) -> &[Listed<ResourceTemplate>] {
        &self.templates.items
    }

    /// Which lists are not what they are in another offer of the same server.
    pub fn differs(&self, other: &Self) -> crate::upstream::Changed {
        let said = self.capabilities != other.capabilities || self.instructions != other.instructions;
        crate::upstream::Changed {
            tools: said || self.tools.differs(&other.tools),
            prompts: said || self.prompts.differs(&other.prompts),
            resources: said
                || self.resources.differs(&other.resources)
                || self.templates.differs(&other.templates),
        }
    }

    /// Tools of which some arguments are said again in headers, as their schemas want it.
    pub fn mirroring_tools(&self) -> Vec<Tool> {
        let mirrors = |listed: &&Listed<Tool>| listed.text.contains("x-mcp-header");
        self.tools.items.iter().filter(mirrors).map(|listed| (*listed.definition).clone()).collect()
    }

    fn take_page<T: Item>(&mut self, result: &[u8]) -> Result<Option<Cursor>, String> {
        let result = std::str::from_utf8(result).map_err(|_| "the list is not UTF-8")?;
        let (mut list, mut next) = (None, None);
        for member in Members::of(result) {
            match &*member.name {
                name if name == T::MEMBER => list = Some(member.value),
                "nextCursor" => next = string_text(member.value).map(Cow::into_owned),
                _ => {}
            }
        }
        let list = list
            .filter(|list| list.starts_with('['))
            .ok_or_else(|| format!("there is no list `{}`", T::MEMBER))?;
        for item in text::elements(list) {
            self.add::<T>(item);
        }
        Ok(self.go_on::<T>(next))
    }

    /// Whether there is another page to ask for. Pages without end, and cursors that lead nowhere, end here.
    fn go_on<T: Item>(&mut self, next: Option<Cursor>) -> Option<Cursor> {
        let gathered = T::shelf(self);
        gathered.pages += 1;
        if next.is_none() || gathered.full {
            return None;
        }
        let why = if gathered.cursor == next {
            "the list leads to the same page again"
        } else if gathered.pages >= PAGES {
            "the list has too many pages"
        } else {
            gathered.cursor.clone_from(&next);
            return next;
        };
        self.remarks.add(AlertKind::LeftOut, T::MEMBER, format!("{why}: what follows is left out"));
        None
    }

    fn add<T: Item>(&mut self, item: &str) {
        let size = item.len();
        if size > DEFINITION_BYTES {
            let subject = subject::<T>(item);
            return self.remarks.add(
                AlertKind::LeftOut,
                &subject,
                format!("its definition has {size} bytes"),
            );
        }
        let full = self.bytes + size > OFFER_BYTES || T::shelf(self).items.len() >= T::MOST;
        if full {
            if !std::mem::replace(&mut T::shelf(self).full, true) {
                let most = format!(
                    "more than {} of them, or than {OFFER_BYTES} bytes: the rest is left out",
                    T::MOST
                );
                self.remarks.add(AlertKind::LeftOut, T::MEMBER, most);
            }
            return;
        }
        match read::<T>(item) {
            Ok(listed) => {
                self.bytes += size;
                T::shelf(self).items.push(listed);
            }
            Err(why) => {
                self.remarks.add(AlertKind::Unreadable, &subject::<T>(item), format!("left out: {why}"))
            }
        }
    }
}

fn read<T: Item>(item: &str) -> Result<Listed<T>, String> {
    let item = text::without_breaks(item.as_bytes());
    let item = std::str::from_utf8(&item).map_err(|error| error.to_string())?;
    let written: Value = serde_json::from_str(item).map_err(|error| error.to_string())?;
    let known = T::deserialize(&written).map_err(|error| error.to_string())?;
    let mut definition = known.clone();
    definition.mend();
    definition.check()?;
    let mut tidy = Vec::with_capacity(item.len());
    text::reword(item, &value_of(&known), &value_of(&definition), &mut tidy);
    let text = String::from_utf8(tidy).map_err(|error| error.to_string())?;
    Ok(Listed { definition: Arc::new(definition), pin: pin::of(&written, T::PINNED), text: text.into() })
}

/// Our own types are objects, always.
pub(super) fn value_of<T: Serialize>(item: &T) -> Value {
    serde_json::to_value(item).unwrap_or_default()
}

/// What an item is called, as far as that can be said of one that cannot be read.
fn subject<T: Item>(item: &str) -> String {
    let key = text::member(item, T::KEY).and_then(string_text);
    key.map_or_else(|| format!("one of {}", T::MEMBER), Cow::into_owned)
}

impl Item for Tool {
    const MEMBER: &'static str = "tools";
    const MOST: usize = 10_000;
    const KEY: &'static str = "name";
    const PINNED: &'static [&'static str] =
        &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

    fn key(&self) -> &str {
        &self.name
    }

    fn shelf(offer: &mut Offer) -> &mut Gathered<Self> {
        &mut offer.tools
    }

    /// Arguments are an object whatever a schema says, so this changes nothing but whether strict clients read it.
    fn mend(&mut self) {
        self.input_schema.entry("type").or_insert_with(|| json!("object"));
    }

    fn check(&self) -> Result<(), String> {
        self.validate().map_err(|_| "the input schema is not that of an object".to_owned())
    }
}

impl Item for Prompt {
    const MEMBER: &'static str = "prompts";
    const MOST: usize = 10_000;
    const KEY: &'static str = "name";
    const PINNED: &'static [&'static str] = &["name", "title", "description", "arguments"];

    fn key(&self) -> &str {
        &self.name
    }

    fn shelf(offer: &mut Offer) -> &mut Gathered<Self> {
        &mut offer.prompts
    }
}

impl Item for Resource {
    const MEMBER: &'static str = "resources";
    const MOST: usize = 50_000;
    const KEY: &'static str = "uri";
    const PINNED: &'static [&'static str] = &["uri", "name", "title", "description"];

    fn key(&self) -> &str {
        &self.uri
    }

    fn shelf(offer: &mut Offer) -> &mut Gathered<Self> {
        &mut offer.resources
    }
}

impl Item for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
    const MOST: usize = 1_000;
    const KEY: &'static str = "uriTemplate";
    const PINNED: &'static [&'static str] = &["uriTemplate", "name", "title", "description"];

    fn key(&self) -> &str {
        &self.uri_template
    }

    fn shelf(offer: &mut Offer) -> &mut Gathered<Self> {
        &mut offer.templates
    }
}
