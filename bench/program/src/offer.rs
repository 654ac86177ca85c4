//! What the tools take and give. The schemas come from these types, by the derive that both peers ask for;
//! what a tool does with its SDK is in the program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arguments of `echo`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Echo {
    /// What to send back.
    pub message: String,
}

/// The arguments of `blob`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Blob {
    /// How many bytes to send.
    pub size: usize,
}

/// The arguments of `length`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Length {
    /// What to measure.
    pub text: String,
}

/// The arguments of `weather`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Place {
    /// Where.
    pub city: String,
}

/// The structured output of `weather`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Weather {
    /// Where.
    pub city: String,
    /// The temperature now.
    pub celsius: f64,
    /// The wind now.
    pub wind: Wind,
    /// The day, hour by hour.
    pub hours: Vec<Hour>,
}

/// A wind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Wind {
    /// In metres per second.
    pub speed: f64,
    /// The direction that it comes from.
    pub from: String,
}

/// One hour of a day.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hour {
    /// From 0 to 23.
    pub hour: u32,
    /// Its temperature.
    pub celsius: f64,
}

/// The arguments of a numbered tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Ordering {
    /// What is ordered, and by whom.
    pub order: Order,
    /// What else is to be said.
    pub note: Option<String>,
}

/// An order.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Order {
    /// Who orders.
    pub customer: Customer,
    /// What is ordered.
    pub lines: Vec<Line>,
}

/// Who orders.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Customer {
    /// The name on the parcel.
    pub name: String,
    /// Where the parcel goes.
    pub address: Address,
}

/// Where a parcel goes.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Address {
    /// Street and number.
    pub street: String,
    /// City.
    pub city: String,
    /// Postal code.
    pub zip: String,
}

/// One line of an order.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Line {
    /// What.
    pub sku: String,
    /// How many.
    pub quantity: i64,
    /// What one of them costs.
    pub price: f64,
}

/// What `steps` counts to.
pub const STEPS: u32 = 10;

/// How large a body may be over HTTP: both peers stop at 4 MiB, which a text of 4 MiB and the message around
/// it exceed. Ours has the same bound in its program.
pub const BODY_BYTES: usize = 5 * 1024 * 1024;

/// What `weather` says of every city.
pub fn weather(place: Place) -> Weather {
    let wind = Wind { speed: 3.5, from: "NW".into() };
    let hours = (0..24).map(|hour| Hour { hour, celsius: 20.5 }).collect();
    Weather { city: place.city, celsius: 21.5, wind, hours }
}

/// What `blob` sends.
pub fn blob(blob: Blob) -> String {
    "x".repeat(blob.size)
}

/// The name and the description of a numbered tool.
pub fn numbered(number: usize) -> (String, String) {
    (format!("tool_{number}"), format!("Takes an order for department {number}."))
}
