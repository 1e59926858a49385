"""Pictures and tables from Tessera's JSON reports.

reports   reads files; what is no report is a UserError
series    what a picture shows: from rows to numbers, without matplotlib (the tests are about these)
pictures  how it is drawn
command   the command line of tessera-plot
"""
