//! Tests which files a lookup opens, and which files may be damaged.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use gix_hash::{Kind, ObjectId};
use tempfile::TempDir;

use super::{Config, ObjectLocation, Odb, PackId, SourceKind, loose};
use sluice_base::temporary;

/// The object number `number` of pack `pack`.
fn id(pack: u8, number: u8) -> ObjectId {
    let mut id = [number; 20];
    id[19] = pack;
    ObjectId::from_bytes_or_panic(&id)
}

/// Write a pack without content and its index of version 2. Each object's offset is its number. Larger
/// packs are searched first.
fn write_pack(dir: &Path, pack: u8, objects: u8) {
    let ids: Vec<ObjectId> = (0..objects).map(|number| id(pack, number)).collect();
    let checksum = [pack; 20];
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255 {
        let upto = ids.iter().filter(|id| id.as_bytes()[0] <= first).count() as u32;
        index.extend(upto.to_be_bytes());
    }
    index.extend(ids.iter().flat_map(|id| id.as_bytes()));
    index.extend(vec![0; 4 * ids.len()]);
    index.extend((0..u32::from(objects)).flat_map(u32::to_be_bytes));
    index.extend(checksum);
    index.extend([0; 20]);
    fs::write(dir.join(format!("pack-{pack}.idx")), index).expect("our own");
    let header = [b"PACK\0\0\0\x02\0\0\0", [objects].as_slice()].concat();
    fs::write(pack_path(dir, pack), [header, checksum.into()].concat()).expect("our own");
}

fn pack_path(dir: &Path, pack: u8) -> PathBuf {
    dir.join(format!("pack-{pack}.pack"))
}

/// The number of packs. They have 60 objects down to ten.
const PACKS: u8 = 6;

/// The number in the id of an object that is in no pack.
const LOOSE: u8 = 100;

struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self {
            directory: temporary::directory(),
        };
        let packs = fixture.packs();
        fs::create_dir(&packs).expect("our own");
        for pack in 0..PACKS {
            write_pack(&packs, pack, 10 * (PACKS - pack));
        }
        let loose = loose::path(fixture.directory.path(), &id(LOOSE, 0));
        fs::create_dir(loose.parent().expect("below")).expect("our own");
        fs::write(loose, "").expect("our own");
        fixture
    }

    fn packs(&self) -> PathBuf {
        self.directory.path().join("pack")
    }

    fn open(&self) -> Odb {
        Odb::open(Config {
            dirs: vec![self.directory.path().to_owned()],
            omits_dirs: false,
            hash: Kind::Sha1,
            multi_pack_index: false,
            replacements: Default::default(),
            is_partial: false,
            made: Default::default(),
        })
    }
}

/// The numbers of indices and of packs that the database has opened or tried to open.
fn opened(odb: &Odb) -> (usize, usize) {
    let is_open = |kind: &SourceKind| match kind {
        SourceKind::Single(index, _) => index.get().is_some(),
        SourceKind::Multi(..) => true,
    };
    let indices = odb.sources.iter().filter(|source| is_open(&source.kind));
    let packs = odb.packs.iter().filter(|file| file.pack.get().is_some());
    (indices.count(), packs.count())
}

fn packed(pack: u8, number: u8) -> Option<ObjectLocation> {
    Some(ObjectLocation::Packed(PackId(pack.into()), number.into()))
}

#[test]
fn a_pack_is_opened_when_an_object_of_it_is_wanted() {
    let fixture = Fixture::new();
    let mut odb = fixture.open();
    assert_eq!(opened(&odb), (0, 0));
    assert_eq!(odb.find(&id(LOOSE, 0)), Some(ObjectLocation::Loose(0)));
    assert_eq!(opened(&odb), (6, 0));
    assert_eq!(odb.find(&id(LOOSE, 1)), None);
    assert_eq!(opened(&odb), (6, 0));
    assert_eq!(odb.find(&id(3, 7)), packed(3, 7));
    assert_eq!(opened(&odb), (6, 1));
}

#[test]
fn many_at_once_open_no_more_than_one_by_one() {
    let fixture = Fixture::new();
    let mut odb = fixture.open();
    let mut places = Vec::new();
    odb.find_all(&[id(LOOSE, 0)], &mut places);
    assert_eq!(places, [Some(ObjectLocation::Loose(0))]);
    assert_eq!(opened(&odb), (6, 0));

    let mut odb = fixture.open();
    odb.find_all(&[id(1, 7), id(0, 7), id(1, 8)], &mut places);
    assert_eq!(places, [packed(1, 7), packed(0, 7), packed(1, 8)]);
    assert_eq!(opened(&odb), (2, 2));
}

/// Replace a pack by something that is no pack.
fn spoil(pack: &Path) {
    fs::remove_file(pack).expect("our own");
    match pack.file_name().and_then(|name| name.to_str()) {
        Some("pack-0.pack") => {}
        Some("pack-1.pack") => fs::write(pack, "").expect("our own"),
        Some("pack-2.pack") => fs::write(pack, "not a pack, but long enough").expect("our own"),
        // The system refuses to map a directory.
        _ => fs::create_dir(pack).expect("our own"),
    }
}

#[test]
fn a_pack_may_be_anything_while_no_object_of_it_is_wanted() {
    let fixture = Fixture::new();
    for pack in [0, 1, 2, 3, 5] {
        spoil(&pack_path(&fixture.packs(), pack));
    }
    let mut odb = fixture.open();
    assert_eq!(odb.find(&id(4, 7)), packed(4, 7));
    assert_eq!(odb.find(&id(LOOSE, 0)), Some(ObjectLocation::Loose(0)));
    // The object is missing, whatever the state of the other packs.
    assert_eq!(odb.find(&id(LOOSE, 1)), None);
    assert!(odb.refusal().is_none());
    for pack in [0, 1, 2] {
        assert_eq!(odb.find(&id(pack, 7)), None);
        assert!(odb.refusal().is_none());
    }
    assert_eq!(odb.find(&id(3, 7)), None);
    assert!(odb.refusal().is_some());
}

#[test]
fn a_pack_of_another_index_is_not_used() {
    let fixture = Fixture::new();
    let (packs, mut places) = (fixture.packs(), Vec::new());
    fs::copy(pack_path(&packs, 1), pack_path(&packs, 0)).expect("our own");
    assert_eq!(fixture.open().find(&id(0, 7)), None);
    fixture.open().find_all(&[id(0, 7), id(1, 7)], &mut places);
    assert_eq!(places, [None, packed(1, 7)]);
}

/// Many are looked for in another way than few.
#[test]
fn loose_objects_are_found_among_many() {
    let fixture = Fixture::new();
    let (mut ids, mut places) = (vec![id(LOOSE, 1); 100], Vec::new());
    ids[50] = id(LOOSE, 0);
    ids[51] = id(3, 7);
    fixture.open().find_all(&ids, &mut places);
    assert_eq!(
        (places[50], places[51]),
        (Some(ObjectLocation::Loose(0)), packed(3, 7))
    );
    assert_eq!(places.iter().flatten().count(), 2);
}

/// Make the pack directory look old.
fn age(fixture: &Fixture) {
    let directory = fs::File::open(fixture.packs()).expect("our own");
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    directory.set_modified(long_ago).expect("our own");
}

#[test]
fn a_database_is_current_as_long_as_its_directories_are_old_and_the_same() {
    let fixture = Fixture::new();
    assert!(!fixture.open().is_current(), "a change may have no trace");
    age(&fixture);
    let mut odb = fixture.open();
    assert!(odb.is_current());
    assert_eq!(odb.find(&id(3, 7)), packed(3, 7));
    assert!(odb.is_current());
    write_pack(&fixture.packs(), PACKS, 5);
    assert!(!odb.is_current());

    spoil(&pack_path(&fixture.packs(), 2));
    age(&fixture);
    let mut odb = fixture.open();
    assert_eq!(odb.find(&id(2, 7)), None);
    assert!(!odb.is_current(), "the pack may be whole again");
}

#[test]
fn a_directory_that_was_young_is_listed_again() {
    let fixture = Fixture::new();
    let list_at = |time: SystemTime| {
        let directory = fs::File::open(fixture.packs()).expect("our own");
        directory.set_modified(time).expect("our own");
    };
    let now = SystemTime::now();
    list_at(now);
    let mut odb = fixture.open();
    write_pack(&fixture.packs(), PACKS, 5);
    list_at(now);
    assert_eq!(odb.find(&id(PACKS, 3)), packed(PACKS, 3));
}
