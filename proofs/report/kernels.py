"""The emitted code: every PTX obligation of each architecture, and what has a digest only."""

from __future__ import annotations

from tylo.layouts.terms import show
from tylo.proofs.bundle import DIGEST_ONLY, Bundle, Check
from tylo.proofs.effects import COMPUTED, Effect, Part, Store, uncovered
from tylo.proofs.ptx.validate import Validation, Verdict
from tylo.proofs.report.document import (
    Block,
    Bullets,
    Code,
    Details,
    Line,
    Paragraph,
    Preformatted,
    Section,
    Status,
    Table,
    columns,
    counted,
)
from tylo.proofs.report.evidence import Evidence

_ORDER = {"fails": 0, "holds": 2}  # anything else is undecided and stands between


def ptx(evidence: Evidence) -> Section:
    """The contract, and for each architecture what its PTX was held to."""
    validations = dict(evidence.validations)
    stated = evidence.specification
    effect = stated.effect if stated else None
    blocks: list[Block] = []
    if effect:
        blocks += [
            Paragraph(
                (
                    "Asked of each PTX file: that it does exactly what the contract says, for "
                    "every thread, every block of every grid, and every base address of the "
                    "buffers. All its obligations together say so; one that fails or is undecided "
                    "leaves the kernel unproven. "
                    "Conversions are compared by name: that ",
                    Code("cvt.rn"),
                    " rounds to nearest even is the PTX ISA's word.",
                )
            ),
            _contract(effect),
            *_not_covered(effect),
        ]
    if stated and stated.roles:
        intro = (
            "Asked of each PTX file: that every thread, in every block and for all sizes, makes "
            "exactly the steps of its role's protocol, in order, however often the loops go round: "
            "its waits and arrivals at barriers with addresses and parities, copies with "
            "coordinates, products with descriptors, its stores, and nothing else. The protocol is "
            "made from the specification's parameters. Not covered by any obligation:"
        )
        named = tuple((each,) for each in stated.roles.uncovered)
        blocks += [Paragraph((intro,)), Bullets(named)]
    for number, architecture in enumerate(evidence.architectures, 1):
        validation = validations.get(architecture)
        checks = [c for c in evidence.checks if c.subject == f"ptx/{architecture}.ptx"]
        held = _held(validation)
        body = _obligations(architecture, validation) if validation else _unproven(checks)
        blocks.append(Section(f"ptx-{number}", f"{architecture}: {held}", body))
    return Section("ptx", "PTX obligations", tuple(blocks))


def _contract(effect: Effect) -> Block:
    stores = "\n".join(map(_store, effect.stores))
    summary = (
        f"Contract of {effect.entry}: what each of {effect.threads} threads stores, "
        f"{counted(len(effect.stores), 'store')}"
    )
    return Details((summary,), (Preformatted(stores),))


def _store(store: Store) -> str:
    parts = ",\n".join(f"    {_part(part)}" for part in store.parts)
    return f"{store.buffer} at byte {show(store.offset)}, {store.bits} bits, lowest first:\n{parts}"


def _not_covered(effect: Effect) -> tuple[Block, ...]:
    """Values that the contract only names: a kernel that stores others would hold as well."""
    named = uncovered(effect)
    if not named:
        return ()
    intro = (
        "Not covered by any obligation: the values below. Where and when they are stored is "
        "proven, and from which buffers they come; which numbers they are is not. The generated "
        "tests compare them with an oracle."
    )
    return (Paragraph((intro,)), Bullets(tuple((each,) for each in named)))


def _part(part: Part) -> str:
    if part.conversion == COMPUTED:
        return f"{part.name}, a value that is not covered, computed from {_origin(part)}"
    return f"{part.conversion} of {part.buffer} at byte {show(part.offset)}"


def _origin(part: Part) -> str:
    found = [
        source.buffer
        if source.end is None
        else f"{source.buffer} from byte {show(source.first or 0)} to byte {show(source.end)}"
        for source in part.sources
    ]
    return ", ".join(found) or "nothing"


def _held(validation: Validation | None) -> str:
    if validation is None:
        return "no obligation could be stated"
    held = sum(verdict.verdict == "holds" for verdict in validation.verdicts)
    return f"{held} of {counted(len(validation.verdicts), 'obligation')} hold"


def _unproven(checks: list[Check]) -> tuple[Block, ...]:
    if not checks:
        return (Paragraph((Status("undecided", "missing"), ": no PTX was checked.")),)
    return (
        Bullets(
            tuple((Status(check.verdict), f": {check.checker}: {check.detail}") for check in checks)
        ),
    )


def _obligations(architecture: str, validation: Validation) -> tuple[Block, ...]:
    ordered = sorted(validation.verdicts, key=lambda verdict: _ORDER.get(verdict.verdict, 1))
    open_points = [verdict for verdict in ordered if verdict.verdict != "holds"]
    blocks: list[Block] = []
    for verdict in open_points:
        at = verdict.obligation
        line: Line = (Status(verdict.verdict), f": {at.label}, {_where(verdict)} ", Code(at.text))
        blocks.append(Paragraph((*line, _least(verdict)) if verdict.failure else line))
    table = Table(
        f"Obligations of ptx/{architecture}.ptx",
        columns("obligation", "verdict", "PTX line", "PTX text"),
        tuple(
            (
                (verdict.obligation.label,),
                (Status(verdict.verdict), _least(verdict)),
                (str(verdict.obligation.line or "-"),),
                (Code(verdict.obligation.text),),
            )
            for verdict in ordered
        ),
        kind="obligations",
    )
    summary = f"All {len(ordered)} obligations, with the PTX line of each"
    return (*blocks, Details((summary,), (table,), open=bool(open_points)))


def _where(verdict: Verdict) -> str:
    line = verdict.obligation.line
    return f"line {line}" if line else "no line"


def _least(verdict: Verdict) -> str:
    failure = verdict.failure
    if failure is None:
        return ""
    if failure.thread < 0:
        return f"\n{failure.message}"
    return f"\nleast: lane {failure.lane}; {failure.message}"


def digests(bundle: Bundle, evidence: Evidence) -> Section:
    """What was only compared with its digest, and the way to more."""
    only = [check for check in evidence.checks if check.verdict == DIGEST_ONLY]
    manifest = bundle.manifest
    made: list[Line] = [
        ("compiler: ", Code(manifest.compiler)),
        ("options: ", Code(" ".join(manifest.options))),
        ("Tylo: ", Code(manifest.version)),
        *(
            ("generated test ", Code(test.file), f": {counted(test.checks, 'check')}, not run here")
            for test in manifest.tests
        ),
    ]
    if only:
        first: tuple[Block, ...] = (
            Paragraph(
                (
                    "These files are the ones that the manifest names, and nothing more is known "
                    "of them here. To regenerate the source and the tests, recompile, and compare "
                    "every byte: ",
                    Code("tylo check BUNDLE --rebuild"),
                )
            ),
            Table(
                "Files with a digest only",
                columns("file", "verdict", "digest"),
                tuple(
                    (
                        (Code(check.subject),),
                        (Status(check.verdict),),
                        (Code(manifest.files.get(check.subject, "not in the manifest")),),
                    )
                    for check in only
                ),
            ),
        )
    else:
        first = (Paragraph(("No file was left with its digest alone.",)),)
    return Section(
        "digests",
        "Digest only",
        (*first, Paragraph(("As the manifest says, unchecked:",)), Bullets(tuple(made))),
    )
