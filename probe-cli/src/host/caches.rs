//! Data and unified caches of the first CPU.

use super::{Tree, cpu_list::CpuList};
use crate::report::model::Cache;

/// The caches the kernel lists for the lowest CPU that has any; none where it lists none.
pub(super) fn read(tree: &Tree) -> Vec<Cache> {
    let cpus = "sys/devices/system/cpu";
    let mut ids: Vec<u32> =
        tree.names(cpus).iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    ids.sort_unstable();
    // CPU 0 can be offline.
    ids.iter()
        .map(|id| of_cpu(tree, &format!("{cpus}/cpu{id}/cache")))
        .find(|caches| !caches.is_empty())
        .unwrap_or_default()
}

fn of_cpu(tree: &Tree, folder: &str) -> Vec<Cache> {
    let mut caches: Vec<Cache> = tree
        .names(folder)
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| one(tree, &format!("{folder}/{name}")))
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn one(tree: &Tree, folder: &str) -> Option<Cache> {
    let kind = tree.text(&format!("{folder}/type")).ok()?;
    if kind != "Data" && kind != "Unified" {
        return None;
    }
    let number = |name: &str, limit| tree.number(&format!("{folder}/{name}"), limit).ok();
    let shared: Option<CpuList> =
        tree.text(&format!("{folder}/shared_cpu_list")).ok().and_then(|list| list.parse().ok());
    Some(Cache {
        level: u32::try_from(number("level", 10)?).ok()?,
        kind,
        size_bytes: size(&tree.text(&format!("{folder}/size")).ok()?)?,
        line_bytes: u32::try_from(number("coherency_line_size", 1 << 16)?).ok()?,
        shared_by: u32::try_from(shared?.len()).ok()?,
    })
}

fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1024),
        b'M' => (&text[..text.len() - 1], 1024 * 1024),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_carry_their_unit() {
        assert_eq!(size("48K"), Some(49_152));
        assert_eq!(size("2M"), Some(2_097_152));
        assert_eq!(size("512"), Some(512));
        for absurd in ["", "K", "-1K", "0K", "99999999999999999999K", "18446744073709551615M", "12G", "é"] {
            assert_eq!(size(absurd), None, "{absurd:?}");
        }
    }
}
