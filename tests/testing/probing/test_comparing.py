"""What a CLI does, beside what is recorded: each verdict, and what holds for all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.testing.probing.behaviours import Behaviour, Seen
from handrail.testing.probing.comparing import Compared, compare
from handrail.testing.probing.matrix import Matrix, load_matrix, neighbours, version_key
from handrail.testing.probing.scenarios import BEHAVIOURS

NEEDED = Behaviour(name="doors: the front door", need="breaks", otherwise="nobody gets in")
NICE = Behaviour(name="doors: the back door", need="degrades", otherwise="a longer way")
LIST = Behaviour(name="doors: the keys", need="degrades", otherwise="no keys", is_list=True)
ALL = {behaviour.name: behaviour for behaviour in (NEEDED, NICE, LIST)}

OPEN, SHUT = Seen(True, "opens"), Seen(False, "stays shut")
MATRIX: Matrix = {
    "2.1.10": {NEEDED.name: OPEN, NICE.name: SHUT, LIST.name: Seen(True, "brass, iron")},
    "2.1.20": {NEEDED.name: OPEN, NICE.name: OPEN, LIST.name: Seen(True, "brass, iron, steel")},
}


def compared(
    behaviour: Behaviour, seen: Seen, version: tuple[int, ...] = (2, 1, 30), matrix: Matrix = MATRIX
) -> Compared:
    (item,) = compare(version, {behaviour.name: seen}, matrix, ALL).items
    return item


def test_as_in_the_nearest_version() -> None:
    item = compared(NICE, OPEN)
    assert (item.verdict, item.like, item.before, item.worse) == ("same", "2.1.20", "", False)


def test_as_in_either_neighbour() -> None:
    assert compared(NICE, SHUT, (2, 1, 15)).verdict == "same"
    assert compared(NICE, OPEN, (2, 1, 15)).verdict == "same"
    assert compared(NICE, SHUT, (2, 1, 15)).worse, "it works in the version before or after"


def test_as_in_another_version() -> None:
    item = compared(NICE, SHUT)
    assert (item.verdict, item.like, item.before, item.worse) == ("like", "2.1.10", "opens", True)
    assert item.otherwise == "a longer way"


def test_never_seen() -> None:
    item = compared(NEEDED, Seen(True, "opens by itself"))
    assert (item.verdict, item.like, item.before) == ("new", "", "opens")
    assert item.is_changed
    assert not item.is_broken


def test_a_list_that_grew_is_no_change() -> None:
    item = compared(LIST, Seen(True, "brass, iron, silver, steel"))
    assert (item.verdict, item.like) == ("more", "2.1.20")
    assert not item.is_changed
    assert compared(LIST, Seen(True, "brass, silver, steel")).verdict == "new"


def test_what_could_not_be_seen() -> None:
    needed, nice = compared(NEEDED, Seen(None, "it hung")), compared(NICE, Seen(None, "it hung"))
    assert needed.is_broken
    assert needed.otherwise == "nobody gets in"
    assert nice.is_changed
    assert not nice.is_broken


def test_nothing_to_compare_with() -> None:
    assert compared(NEEDED, OPEN, matrix={}).verdict == "unrecorded"
    assert compared(NEEDED, SHUT, matrix={}).is_broken
    assert compared(NEEDED, OPEN, matrix={"2.1.20": {}}).verdict == "unrecorded"


def test_the_whole_in_a_word() -> None:
    def status(**seen: Seen) -> str:
        return compare((2, 1, 30), {behaviours[name]: each for name, each in seen.items()}, MATRIX, ALL).status

    behaviours = {"needed": NEEDED.name, "nice": NICE.name}
    assert status(needed=OPEN, nice=OPEN) == "fine"
    assert status(needed=OPEN, nice=SHUT) == "changed"
    assert status(needed=SHUT, nice=OPEN) == "broken"


def test_every_recorded_version_is_fine() -> None:
    matrix = load_matrix()
    for version, seen in matrix.items():
        comparison = compare(version_key(version), seen, matrix, BEHAVIOURS)
        assert (comparison.against, comparison.status) == ((version,), "fine")
        assert {item.verdict for item in comparison.items} == {"same"}


# ---------------------------------------------------------------- whatever the CLI does

versions = st.tuples(st.just(2), st.integers(0, 2), st.integers(0, 30))
outcomes = st.builds(Seen, st.booleans(), st.sampled_from(["opens", "stays shut", "a", "a, b", "a, b, c", "nothing"]))
records = st.dictionaries(st.sampled_from(list(ALL)), outcomes)
matrices = st.dictionaries(versions.map(lambda version: ".".join(map(str, version))), records, max_size=5)
sights = st.dictionaries(
    st.sampled_from(list(ALL)), st.one_of(outcomes, st.builds(Seen, st.none(), st.just("it hung"))), min_size=1
)


@given(versions, sights, matrices)
def test_every_behaviour_has_one_verdict_that_is_true(
    version: tuple[int, ...], seen: dict[str, Seen], matrix: Matrix
) -> None:
    comparison = compare(version, seen, matrix, ALL)
    assert [item.name for item in comparison.items] == list(seen)
    for item in comparison.items:
        mine = seen[item.name]
        near = [matrix[each].get(item.name) for each in comparison.against]
        anywhere = [each for each, record in matrix.items() if record.get(item.name) == mine]
        match item.verdict:
            case "same":
                assert mine in near
                assert matrix[item.like][item.name] == mine
            case "like":
                assert mine not in near
                assert item.like in anywhere
            case "new":
                assert not anywhere
                assert any(near)
            case "more":
                assert mine not in near
                assert ALL[item.name].is_list
            case "unseen":
                assert mine.works is None
            case "unrecorded":
                assert not any(near)
        assert item.works == mine.works
        assert bool(item.otherwise) is (not mine.works)


@given(versions, sights, matrices)
def test_the_status_follows_from_the_items(version: tuple[int, ...], seen: dict[str, Seen], matrix: Matrix) -> None:
    comparison = compare(version, seen, matrix, ALL)
    lacking = [name for name, each in seen.items() if not each.works and ALL[name].need == "breaks"]
    assert (comparison.status == "broken") is bool(lacking)
    if comparison.status == "fine":
        assert not any(item.worse or item.verdict in ("like", "new", "unseen") for item in comparison.items)


@given(versions, matrices)
def test_neighbours_are_the_nearest_on_either_side(version: tuple[int, ...], matrix: Matrix) -> None:
    near = neighbours(version, matrix)
    keys = [version_key(each) for each in near]
    assert keys == sorted(keys)
    assert len(near) == min(len(near), 2)
    if version in map(version_key, matrix):
        assert keys == [version]
        return
    older, newer = [key for key in keys if key < version], [key for key in keys if key > version]
    between = [each for each in map(version_key, matrix) if each not in keys]
    assert all(not older or each < older[0] or each > version for each in between)
    assert all(not newer or each > newer[0] or each < version for each in between)
    assert bool(near) is bool(matrix)
