"""Tessera for Ramble: `ramble repo add <checkout>/common/cluster/ramble`."""

from ramble.appkit import *


class Tessera(ExecutableApplication):
    """A suite of Kokkos mini-apps: every algorithm several ways,
    each verified against a serial reference and measured."""

    name = "tessera"

    tags("benchmark-app", "mini-app", "kokkos")

    software_spec("tessera", pkg_spec="tessera", package_manager="spack*")
    required_package("tessera", package_manager="spack*")

    # One line per row for the figures of merit, and all samples in the report.
    executable(
        "run",
        "tessera run {apps} {size_option} {size} --variant {variant} --space {space} --lines {options} "
        "--json {experiment_run_dir}/report.json",
        use_mpi=True,
    )
    workload("generated", executables=["run"])

    workload_variable(
        "apps",
        default="dot",
        description="Mini-apps: names joined by commas, or all",
        workloads=["generated"],
    )
    workload_variable(
        "size_option",
        default="--size",
        description="--size: elements of all ranks together; --size-per-rank: elements per rank",
        workloads=["generated"],
    )
    # Ramble computes what it expands: 2^26 would be an exclusive or.
    workload_variable(
        "size", default="67108864", description="Elements, in digits or as 2**26", workloads=["generated"]
    )
    workload_variable(
        "variant",
        default="all",
        description="Variants; on several ranks only variants of level `ranks` run",
        workloads=["generated"],
    )
    workload_variable("space", default="all", description="Execution spaces", workloads=["generated"])
    workload_variable("options", default="", description="More options of tessera run", workloads=["generated"])
    environment_variable(
        "OMP_NUM_THREADS", "{n_threads}", description="Threads per rank, pinned one per core", workloads=["generated"]
    )
    environment_variable("OMP_PROC_BIND", "spread", description="Threads do not move", workloads=["generated"])
    environment_variable("OMP_PLACES", "cores", description="One thread per core", workloads=["generated"])

    archive_pattern("report.json")

    # docs/reports.md: the names in these lines, and their order, stay as they are.
    row = (
        r"TESSERA row app=(?P<app>\S+) variant=(?P<variant>\S+) space=(?P<space>\S+) dtype=(?P<dtype>\S+)"
        r" size=(?P<size>\S+) ranks=(?P<ranks>\d+)"
    )
    figure_of_merit_context(
        "row", regex=row, output_format="{app} {variant} {space} {dtype} size {size} on {ranks} ranks"
    )
    for fom, unit in (("seconds", "s"), ("bytes_per_second", "B/s"), ("share_of_roof", "")):
        figure_of_merit(
            fom,
            fom_regex=row + r" .*\b" + fom + r"=(?P<value>[0-9.e+-]*[0-9])",
            group_name="value",
            units=unit,
            contexts=["row"],
        )
    # The last line.
    total = r"TESSERA rows=(?P<rows>\d+) passed=(?P<passed>\d+) failed=(?P<failed>\d+) "
    for count in ("rows", "passed", "failed"):
        figure_of_merit(count, fom_regex=total, group_name=count, units="")
    success_criteria("verified", mode="string", match=r"TESSERA rows=\d+ passed=[1-9]\d* failed=0 ", file="{log_file}")
