#include "all_apps.hpp"

#include <tessera/driver/run.hpp>

int main(int argc, char** argv) { return tessera::run_suite(tessera::all_apps(), argc, argv); }
