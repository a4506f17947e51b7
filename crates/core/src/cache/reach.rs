//! Answers about the refs of repositories, next to the archives that were made with them.

use super::{
    delivery::open,
    request::Key,
    settings::Settings,
    table::{REACHED, Slot},
};
use sluice_git::repository::reach::ReachMemory;

/// A question, and then the answer. Two questions that share a place cannot be taken for each other.
type Place = Slot<33>;

impl ReachMemory for Settings {
    fn recall(&self, question: &[u8; 32]) -> Option<bool> {
        let noted = place(self, question)?.read()?;
        (noted[..32] == question[..]).then_some(noted[32] == 1)
    }

    fn remember(&self, question: &[u8; 32], answer: bool) {
        let mut noted = [answer.into(); 33];
        noted[..32].copy_from_slice(question);
        if let Some(place) = place(self, question) {
            place.write(&noted);
        }
    }
}

/// The place of `question`, unless the directory cannot be used.
fn place(settings: &Settings, question: &[u8; 32]) -> Option<Place> {
    Slot::open(&open(settings).ok()?, REACHED, &Key(*question))
}
