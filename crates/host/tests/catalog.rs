//! Names and the catalog, through their public functions.

#[path = "catalog/support.rs"]
mod support;

#[path = "catalog/hostile.rs"]
mod hostile;
#[path = "catalog/lists.rs"]
mod lists;
#[path = "catalog/names.rs"]
mod names;
#[path = "catalog/offers.rs"]
mod offers;
#[path = "catalog/outward.rs"]
mod outward;
#[path = "catalog/pages.rs"]
mod pages;
#[path = "catalog/pins.rs"]
mod pins;
#[path = "catalog/resources.rs"]
mod resources;
#[path = "catalog/scale.rs"]
mod scale;
